package store

import "github.com/skein-bot/skein/core"

// Pace is how fast a person writes. Recent is opaque here: package policy reads
// and writes it.
type Pace struct {
	Person string // "channel:id"
	Recent string
	// Missed counts messages that were not taken since the person was last told.
	Missed int
}

// LockPace returns the pace of a person and holds it until the transaction
// ends, so that of two messages at once one is counted after the other, on
// whatever nodes they arrive.
func (tx *Tx) LockPace(person string, now core.Millis) (p Pace, err error) {
	p.Person = person
	err = tx.one(`INSERT INTO pace (person, at) VALUES ($1,$2) ON CONFLICT (person) DO UPDATE SET at = excluded.at
		RETURNING recent, missed`, []any{person, int64(now)}, &p.Recent, &p.Missed)
	return p, err
}

// SetPace writes a pace that LockPace returned.
func (tx *Tx) SetPace(p Pace) error {
	_, err := tx.exec(`UPDATE pace SET recent = $2, missed = $3 WHERE person = $1`, p.Person, p.Recent, p.Missed)
	return err
}

// TurnsOf counts the turns that a person has started since a time, and the
// messages of the person that wait and may start one each.
func (tx *Tx) TurnsOf(person string, since core.Millis) (n int, err error) {
	err = tx.one(`SELECT (SELECT COUNT(*) FROM turn WHERE owner = $1 AND owner <> '' AND started_at >= $2 AND kind IN ('message', 'dropped'))
		+ (SELECT COUNT(*) FROM inbox WHERE owner = $1 AND kind = 'message')`, []any{person, int64(since)}, &n)
	return n, err
}
