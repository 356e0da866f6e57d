package store

// LastAsked returns the newest turn of the session's current generation that a
// person's message started, or ErrNotFound.
func (tx *Tx) LastAsked(s Session) (Turn, error) {
	return first(tx, scanTurn, `SELECT `+turnColumns+` FROM turn WHERE session_id = $1 AND generation = $2 AND kind IN ('message', 'dropped')
		ORDER BY id DESC LIMIT 1`, s.ID, s.Generation)
}

// ReplaceFrom takes what a turn and all later ones wrote in the session's
// current generation out of its prompt, because new rows come in their place.
// The rows stay in the whole transcript, and in the prompts of sessions that
// were forked before: what is forked later is forked at a newer row, because
// the turn that comes has one. Rows that stand for others, as a compaction's, are no
// turn's own and stay.
func (tx *Tx) ReplaceFrom(s Session, turn int64) error {
	last, err := tx.LastRow(s.ID)
	if err != nil {
		return err
	}
	return tx.later(`UPDATE transcript SET replaced = $4 WHERE session_id = $1 AND generation = $2 AND turn_id >= $3 AND replaced = 0
		AND kind IN ('message', 'dropped', 'completion', 'wake', 'user', 'assistant', 'tool', 'event', 'note')`,
		s.ID, s.Generation, turn, last)
}

// ResetGeneration starts an empty history in the session if it still has the
// generation that s says; ok is false if somebody was faster.
func (tx *Tx) ResetGeneration(s Session) (ok bool, err error) {
	n, err := tx.exec(`UPDATE session SET generation = generation + 1, context_from = 0 WHERE id = $1 AND generation = $2`, s.ID, s.Generation)
	return n > 0, err
}
