package command

import (
	"strings"

	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// SettingModel is the session setting that /new <model> writes: the model of
// the session's own turns. Empty is the agent's.
const SettingModel = "model"

// halt stops what the conversation's session does, and everything below it.
func (s Set) halt(tx *store.Tx, r Request) (subagent.Stopped, error) {
	if r.Session.ID == 0 {
		return subagent.Stopped{}, nil
	}
	return s.o.Stopper.Stop(tx, r.Session.ID)
}

// stop is /stop.
func (s Set) stop(tx *store.Tx, r Request) (Reply, error) {
	stopped, err := s.halt(tx, r)
	return Reply{Text: stoppedText(stopped)}, err
}

// fresh is /new.
func (s Set) fresh(tx *store.Tx, r Request) (Reply, error) {
	model := r.Args
	if model != "" && !s.o.Config.ModelKnown(model) {
		return Reply{}, refuseModel(model)
	}
	stopped, err := s.halt(tx, r)
	if err != nil {
		return Reply{}, err
	}
	session := r.Session
	if model != "" {
		if session, err = ensure(tx, r); err != nil {
			return Reply{}, err
		}
	}
	if session.ID != 0 {
		if err := tx.NewGeneration(session.ID); err != nil {
			return Reply{}, err
		}
		err = tx.SetSetting(session.ID, SettingModel, model)
	}
	return Reply{Text: freshText(stopped, model)}, err
}

// reset is /reset: like /new, but the session keeps its settings.
func (s Set) reset(tx *store.Tx, r Request) (Reply, error) {
	if r.Args != "" {
		return Reply{}, refuseUsage("/reset alone")
	}
	stopped, err := s.halt(tx, r)
	if err == nil && r.Session.ID != 0 {
		err = tx.NewGeneration(r.Session.ID)
	}
	return Reply{Text: resetText(stopped)}, err
}

// queue is /queue.
func (s Set) queue(tx *store.Tx, r Request) (Reply, error) {
	at := r.Message.Address
	configured := string(s.o.Config.QueueMode(at.Channel, at.Account))
	if r.Args == "" {
		own, err := tx.Setting(r.Session.ID, kernel.SettingQueue)
		if own != "" {
			return Reply{Text: queueText(own, true)}, err
		}
		return Reply{Text: queueText(configured, false)}, err
	}
	mode := strings.ToLower(r.Args)
	switch kernel.QueueMode(mode) {
	case kernel.QueueSteer, kernel.QueueFollowup, kernel.QueueCollect, kernel.QueueInterrupt:
	case "default":
		return Reply{Text: queueText(configured, false)}, tx.SetSetting(r.Session.ID, kernel.SettingQueue, "")
	default:
		return Reply{}, refuseQueue(r.Args)
	}
	session, err := ensure(tx, r)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Text: queueText(mode, true)}, tx.SetSetting(session.ID, kernel.SettingQueue, mode)
}
