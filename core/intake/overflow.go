package intake

import (
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// overflow makes room in a session's queue for one more message. dropped says
// that the new message itself is left out. What is left out is counted in one
// row, so that the model and the person are told how many there were.
func (s *Service) overflow(tx *store.Tx, rules QueueRules, row store.Inbox, text string) (dropped bool, err error) {
	if rules.Cap <= 0 {
		return false, nil
	}
	n, err := tx.CountQueued(row.Session)
	if err != nil || n < rules.Cap {
		return false, err
	}
	if rules.Overflow == OverflowNew {
		return true, s.leaveOut(tx, row, rules, text)
	}
	for ; n >= rules.Cap; n-- { // of more than one where the cap was lowered
		oldest, err := tx.OldestQueued(row.Session)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		item, err := model.DecodeItem(oldest.Body)
		if err != nil {
			return false, err
		}
		if err := tx.DeleteInbox(oldest.ID); err != nil {
			return false, err
		}
		if err := s.leaveOut(tx, oldest, rules, item.Text); err != nil {
			return false, err
		}
	}
	return false, nil
}

// What the row that stands for left out messages keeps of them.
const (
	summaryLines = 50 // in the list that the model reads
	namedLines   = 5  // in the notice that people get
	namedLength  = 60 // characters of each
)

// leaveOut counts one message in the session's row of left out messages that
// has its reply address and sender policy.
func (s *Service) leaveOut(tx *store.Tx, row store.Inbox, rules QueueRules, text string) error {
	line, named := "", core.Clip(text, namedLength)
	if rules.Overflow == OverflowSummarize {
		line = "\n- " + core.Clip(text, 120)
	}
	rows, err := tx.DroppedRows(row.Session)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(r store.Inbox) bool { return r.ReplyTo.Same(row.ReplyTo) && r.Policy == row.Policy })
	if i < 0 {
		item := model.Item{Kind: model.Note, Dropped: 1, Left: []string{named}, At: s.World.Now()}
		item.Text = droppedText(rules.Overflow) + line
		row.Kind, row.Body, row.Source = store.InboxDropped, item.Encode(), ""
		_, err = tx.InsertInbox(row)
		return err
	}
	old := rows[i]
	item, err := model.DecodeItem(old.Body)
	if err != nil {
		return err
	}
	item.Dropped++
	if len(item.Left) < namedLines {
		item.Left = append(item.Left, named)
	}
	if strings.Count(item.Text, "\n- ") < summaryLines {
		item.Text += line
	}
	_, err = tx.UpdateInboxBody(old.ID, item.Encode())
	return err
}

func droppedText(o Overflow) string {
	if o == OverflowSummarize {
		return "More messages came than the queue holds. The oldest, shortened:"
	}
	return "More messages came than the queue holds; some were left out."
}
