package store

import "github.com/skein-bot/skein/core"

// OpenPreviews returns the previews of a session that nothing has replaced and
// no row is going to, oldest first: what a turn that is continued had shown.
func (tx *Tx) OpenPreviews(session int64) ([]Outbox, error) {
	return all(tx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE kind = 'preview' AND state IN ('queued', 'sending', 'sent')
		AND session_id = $1 AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.preview = outbox.id AND o.preview > 0 AND o.state <> 'withdrawn')
		ORDER BY id`, session)
}

// PreviewClaimed reports whether a row replaces a preview, or did. One that was
// withdrawn does not.
func (tx *Tx) PreviewClaimed(preview int64) (bool, error) {
	ids, err := all(tx, scanID, `SELECT id FROM outbox WHERE preview = $1 AND preview > 0 AND state <> 'withdrawn' LIMIT 1`, preview)
	return len(ids) > 0, err
}

// ClosePreview notes that a preview stands no more, because it was replaced or
// removed. An end that it came to before stays.
func (tx *Tx) ClosePreview(id int64, now core.Millis) error {
	_, err := tx.exec(`UPDATE outbox SET state = 'withdrawn', ended_at = $2 WHERE id = $1 AND kind = 'preview'
		AND state IN ('queued', 'sending', 'sent')`, id, int64(now))
	return err
}

// StandingPreviews returns the platform's ids of the messages at a place that
// show a part of an answer.
func (tx *Tx) StandingPreviews(at core.Address) ([]string, error) {
	return all(tx, func(s scanner) (id string, err error) {
		err = s.Scan(&id)
		return id, err
	}, `SELECT sent_part.platform_id FROM outbox JOIN sent_part ON sent_part.outbox_id = outbox.id
		WHERE outbox.kind = 'preview' AND outbox.state IN ('queued', 'sending', 'sent')
		AND outbox.channel = $1 AND outbox.account = $2 AND outbox.conversation = $3 AND outbox.thread = $4`,
		at.Channel, at.Account, at.Conversation, at.Thread)
}
