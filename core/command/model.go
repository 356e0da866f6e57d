package command

import (
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// modelSource says who chose a model.
type modelSource uint8

const (
	modelOfAgent   modelSource = iota // the configuration
	modelOfRun                        // the spawn of a sub-agent
	modelOfSession                    // a person, with /model or /new
)

// model is the model of the session's next turn, as package agent chooses it.
func (s Set) model(tx *store.Tx, r Request) (ref string, from modelSource, err error) {
	if r.Session.ID != 0 {
		if own, err := tx.Setting(r.Session.ID, store.SettingModel); own != "" || err != nil {
			return own, modelOfSession, err
		}
	}
	if r.Session.Depth > 0 {
		run, err := latestRun(tx, r.Session.ID)
		if run.Spec.Model != "" || err != nil {
			return run.Spec.Model, modelOfRun, err
		}
	}
	return s.o.Config.Model(r.AgentID), modelOfAgent, nil
}

func (s Set) sourceText(r Request, from modelSource) string {
	switch from {
	case modelOfSession:
		return r.Language.ModelSourceSession()
	case modelOfRun:
		return r.Language.ModelSourceRun()
	}
	return r.Language.ModelSourceAgent(s.agentText(r.AgentID))
}

// modelCommand is /model.
func (s Set) modelCommand(tx *store.Tx, r Request) (Reply, error) {
	w := r.Language
	switch {
	case r.Args == "":
		ref, from, err := s.model(tx, r)
		if ref == "" {
			ref = w.ModelUnset()
		}
		names := s.modelNames(w)
		return Reply{Text: w.ModelCurrent(ref, s.sourceText(r, from)) + "\n" + w.ModelList(names)}, err
	case strings.EqualFold(r.Args, "default"):
		if r.Session.ID != 0 {
			if err := tx.SetSetting(r.Session.ID, store.SettingModel, ""); err != nil {
				return Reply{}, err
			}
		}
		ref, from, err := s.model(tx, r)
		if ref == "" {
			ref = w.ModelUnset()
		}
		return Reply{Text: w.ModelCleared(ref, s.sourceText(r, from))}, err
	}
	ref, ok := s.o.Config.FindModel(r.Args)
	if !ok {
		return Reply{}, s.refuseModel(w, r.Args)
	}
	session, err := ensure(tx, r)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Text: w.ModelOwn(ref)}, tx.SetSetting(session.ID, store.SettingModel, ref)
}

// modelsShown is how many models a reply names.
const modelsShown = 20

// modelNames lists what there is to choose from.
func (s Set) modelNames(w words.Language) []string {
	names, providers := s.o.Config.Models()
	for _, p := range providers {
		names = append(names, w.ModelAny(p))
	}
	if more := len(names) - modelsShown; more > 0 {
		names = append(names[:modelsShown:modelsShown], w.FitMore(more))
	}
	return names
}

func (s Set) refuseModel(w words.Language, name string) *core.Error {
	return words.RefuseModelUnknown(CodeModelUnknown, core.Clip(name, nameLimit), s.modelNames(w))
}
