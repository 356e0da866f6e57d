package intake

import (
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// looping counts a message of another bot that would be heard, and reports
// whether it is one too many: two bots may be answering each other. The count
// is in the transaction of the message, so it holds over a restart and on every
// node; the message that begins a silence also tells the operator.
func (s *Service) looping(tx *store.Tx, m core.Message) (bool, error) {
	now, place := s.World.Now(), policy.TalkPlace(m.Address)
	talk, err := tx.LockTalk(policy.Sender(m.Address.Channel, m.Author), place.String(), now)
	if err != nil {
		return false, err
	}
	after, heard, begins := policy.ParseTalk(talk.Recent, talk.Until).Hear(now)
	talk.Recent, talk.Until = after.String(), after.Until
	if err := tx.SetTalk(talk); err != nil || heard {
		return false, err
	}
	if begins && s.OnLoop != nil {
		err = s.OnLoop(tx, place, m.Author.ID)
	}
	return true, err
}
