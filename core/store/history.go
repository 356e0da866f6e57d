package store

import (
	"slices"

	"github.com/skein-bot/skein/core"
)

// Seen is a message of a group that was seen and did not address the bot. It
// waits in the history of its place for the next message that does.
type Seen struct {
	ID    int64
	Place core.Place
	// Message is the platform's id, unique in the conversation.
	Message string
	Owner   string // who wrote it, "channel:id"
	Body    string // JSON of a model.Item
	At      core.Millis
}

const seenColumns = `id, channel, account, conversation, thread, message, owner, body, at`

func scanSeen(s scanner) (Seen, error) {
	var r Seen
	err := s.Scan(&r.ID, &r.Place.Channel, &r.Place.Account, &r.Place.Conversation, &r.Place.Thread, &r.Message, &r.Owner, &r.Body, &r.At)
	return r, err
}

// seenBatch bounds how many rows over the limit of a place one insert removes.
const seenBatch = 1000

// InsertSeen adds a message to the history of its place, which then holds the
// newest keep of them. A message that is there already stays as it is.
func (tx *Tx) InsertSeen(s Seen, keep int) error {
	p := s.Place
	n, err := tx.exec(`INSERT INTO history (channel, account, conversation, thread, message, owner, body, at) VALUES ($1,$2,$3,$4,$5,$6,$7,$8)
		ON CONFLICT (conversation, message, account, channel) DO NOTHING`,
		p.Channel, p.Account, p.Conversation, p.Thread, s.Message, s.Owner, s.Body, int64(s.At))
	if err != nil || n == 0 {
		return err
	}
	return tx.later(`DELETE FROM history WHERE id IN (SELECT id FROM history WHERE conversation = $1 AND thread = $2 AND account = $3
		AND channel = $4 ORDER BY at DESC, id DESC LIMIT $5 OFFSET $6)`, p.Conversation, p.Thread, p.Account, p.Channel, seenBatch, keep)
}

// TakeSeen removes the history of a place and returns its newest messages, at
// most limit, oldest first.
func (tx *Tx) TakeSeen(p core.Place, limit int) ([]Seen, error) {
	out, err := all(tx, scanSeen, `DELETE FROM history WHERE conversation = $1 AND thread = $2 AND account = $3 AND channel = $4
		RETURNING `+seenColumns, p.Conversation, p.Thread, p.Account, p.Channel)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Seen) int {
		if a.At != b.At {
			return int(a.At - b.At)
		}
		return int(a.ID - b.ID)
	})
	return out[max(len(out)-limit, 0):], nil
}

// SeenMessage returns a message of a conversation, in whatever thread, or
// ErrNotFound.
func (tx *Tx) SeenMessage(at core.Place, message string) (Seen, error) {
	return first(tx, scanSeen, `SELECT `+seenColumns+` FROM history WHERE conversation = $1 AND message = $2 AND account = $3 AND channel = $4`,
		at.Conversation, message, at.Account, at.Channel)
}

// UpdateSeen replaces the body of a message that is still there.
func (tx *Tx) UpdateSeen(id int64, body string) error {
	return tx.later(`UPDATE history SET body = $2 WHERE id = $1`, id, body)
}

// DeleteSeen removes a message.
func (tx *Tx) DeleteSeen(id int64) error {
	return tx.later(`DELETE FROM history WHERE id = $1`, id)
}
