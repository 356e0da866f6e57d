package store

import "github.com/skein-bot/skein/core"

// Talk is what a bot wrote of late in a conversation. Recent is opaque here:
// package policy reads and writes it.
type Talk struct {
	Bot    string // "channel:id"
	Place  string // an address in text form
	Recent string
	Until  core.Millis // the end of its silence, 0 if it was never silenced
}

// LockTalk returns what a bot wrote in a place, and holds it until the
// transaction ends: of two messages at once one is counted after the other, on
// whatever nodes they arrive.
func (tx *Tx) LockTalk(bot, place string, now core.Millis) (t Talk, err error) {
	t.Bot, t.Place = bot, place
	err = tx.one(`INSERT INTO loop_guard (bot, place, at) VALUES ($1,$2,$3) ON CONFLICT (bot, place) DO UPDATE SET at = excluded.at
		RETURNING recent, silent_until`, []any{bot, place, int64(now)}, &t.Recent, &t.Until)
	return t, err
}

// SetTalk writes a talk that LockTalk returned.
func (tx *Tx) SetTalk(t Talk) error {
	return tx.later(`UPDATE loop_guard SET recent = $3, silent_until = $4 WHERE bot = $1 AND place = $2`, t.Bot, t.Place, t.Recent, int64(t.Until))
}

// SilencedTalks lists the talks of bots that are not heard at present.
func (tx *Tx) SilencedTalks(now core.Millis, limit int) ([]Talk, error) {
	return all(tx, func(s scanner) (t Talk, err error) {
		err = s.Scan(&t.Bot, &t.Place, &t.Recent, &t.Until)
		return t, err
	}, `SELECT bot, place, recent, silent_until FROM loop_guard WHERE silent_until > $1 ORDER BY silent_until, bot, place LIMIT $2`, int64(now), limit)
}
