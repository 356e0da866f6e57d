package store

// SpawnResult returns the result that a requester's spawn under a key had, or
// ErrNotFound.
func (tx *Tx) SpawnResult(requester, key string) (result string, err error) {
	err = tx.one(`SELECT result FROM spawn_key WHERE requester = $1 AND key = $2`, []any{requester, key}, &result)
	return result, err
}

// KeepSpawnResult keeps the result of the spawn of a run under a key of its
// requester's; the first one stays.
func (tx *Tx) KeepSpawnResult(requester, key, run, result string) error {
	return tx.later(`INSERT INTO spawn_key (requester, key, run_id, result) VALUES ($1,$2,$3,$4) ON CONFLICT (requester, key) DO NOTHING`,
		requester, key, run, result)
}
