package command

import (
	"strings"

	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// halt stops what the conversation's session does, and everything below it.
func (s Set) halt(tx *store.Tx, r Request) (subagent.Stopped, error) {
	if r.Session.ID == 0 {
		return subagent.Stopped{}, nil
	}
	return s.o.Stopper.Stop(tx, r.Session.ID)
}

// stop is /stop.
func (s Set) stop(tx *store.Tx, r Request) (Reply, error) {
	what, err := s.halt(tx, r)
	return Reply{Text: stoppedText(r.Language, what)}, err
}

// fresh is /new.
func (s Set) fresh(tx *store.Tx, r Request) (Reply, error) {
	model := r.Args
	if model != "" {
		var found bool
		if model, found = s.o.Config.FindModel(model); !found {
			return Reply{}, s.refuseModel(r.Language, r.Args)
		}
	}
	what, err := s.halt(tx, r)
	if err != nil {
		return Reply{}, err
	}
	session := r.Session
	if model != "" {
		if session, err = ensure(tx, r); err != nil {
			return Reply{}, err
		}
	}
	if err := s.forget(tx, r, session.ID); err != nil {
		return Reply{}, err
	}
	if session.ID != 0 {
		err = tx.SetSetting(session.ID, store.SettingModel, model)
	}
	return Reply{Text: freshText(r.Language, what, model)}, err
}

// reset is /reset: like /new, but the session keeps its settings.
func (s Set) reset(tx *store.Tx, r Request) (Reply, error) {
	if r.Args != "" {
		return Reply{}, words.RefuseUsageAlone(CodeUsage, "/reset")
	}
	what, err := s.halt(tx, r)
	if err == nil {
		err = s.forget(tx, r, r.Session.ID)
	}
	return Reply{Text: resetText(r.Language, what)}, err
}

// forget begins an empty history in a session that exists, and forgets what was
// seen in the place.
func (s Set) forget(tx *store.Tx, r Request, session int64) error {
	if _, err := tx.TakeSeen(r.Message.Address.Place(), 0); err != nil || session == 0 {
		return err
	}
	return tx.NewGeneration(session)
}

// queue is /queue.
func (s Set) queue(tx *store.Tx, r Request) (Reply, error) {
	at := r.Message.Address
	configured := string(s.o.Config.QueueMode(at.Channel, at.Account))
	if r.Args == "" {
		own, err := tx.Setting(r.Session.ID, store.SettingQueue)
		if own != "" {
			return Reply{Text: queueText(r.Language, own, true)}, err
		}
		return Reply{Text: queueText(r.Language, configured, false)}, err
	}
	mode := strings.ToLower(r.Args)
	switch kernel.QueueMode(mode) {
	case kernel.QueueSteer, kernel.QueueFollowup, kernel.QueueCollect, kernel.QueueInterrupt:
	case "default":
		return Reply{Text: queueText(r.Language, configured, false)}, tx.SetSetting(r.Session.ID, store.SettingQueue, "")
	default:
		return Reply{}, refuseQueue(r.Args)
	}
	session, err := ensure(tx, r)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Text: queueText(r.Language, mode, true)}, tx.SetSetting(session.ID, store.SettingQueue, mode)
}
