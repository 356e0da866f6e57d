package store

import "github.com/skein-bot/skein/core"

// Media is a picture that came with a message of a session.
type Media struct {
	ID      string // no name of the platform's: it may hold anything
	Session int64
	Type    string // MIME type of the content
	Size    int64  // bytes of the content
	Data    string // the content in base64
	At      core.Millis
}

// InsertMedia keeps a picture.
func (tx *Tx) InsertMedia(m Media) error {
	return tx.later(`INSERT INTO media (id, session_id, type, size, data, at) VALUES ($1,$2,$3,$4,$5,$6)`,
		m.ID, m.Session, m.Type, m.Size, m.Data, int64(m.At))
}

// MediaByID returns a picture, or ErrNotFound.
func (tx *Tx) MediaByID(id string) (Media, error) {
	return first(tx, func(s scanner) (m Media, err error) {
		err = s.Scan(&m.ID, &m.Session, &m.Type, &m.Size, &m.Data, &m.At)
		return m, err
	}, `SELECT id, session_id, type, size, data, at FROM media WHERE id = $1`, id)
}

// SetRowBody replaces the body of a transcript row of a session: what came with
// a message has been looked at.
func (tx *Tx) SetRowBody(session, row int64, body string) error {
	return tx.later(`UPDATE transcript SET body = $3 WHERE id = $1 AND session_id = $2`, row, session, body)
}
