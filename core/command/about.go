package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// help is /help.
func (s Set) help(_ *store.Tx, r Request) (Reply, error) {
	var rows []string
	for _, c := range r.set.Commands() {
		usage := "/" + c.Name
		if c.Usage != "" {
			usage += " " + c.Usage
		}
		rows = append(rows, usage+" - "+c.Summary(r.Language))
	}
	return Reply{Text: list(r.Language, r.Language.HelpHead(), rows, "")}, nil
}

// whoami is /whoami.
func (s Set) whoami(_ *store.Tx, r Request) (Reply, error) {
	w := r.Language
	who := r.Actor
	if who == "" {
		who = w.WhoamiUnknown()
	}
	if r.Operator {
		who = w.WhoamiOperator(who)
	}
	lines := []string{w.LabelYou(who)}
	lines = line(lines, w.LabelName, core.Clip(r.Message.Author.Name, nameLimit))
	lines = line(lines, w.LabelPlace, r.Message.Address.String())
	lines = line(lines, w.LabelSession, r.Key.String())
	lines = line(lines, w.LabelAgent, r.AgentID)
	return Reply{Text: strings.Join(lines, "\n")}, nil
}

// status is /status.
func (s Set) status(tx *store.Tx, r Request) (Reply, error) {
	w := r.Language
	lines := []string{w.LabelAgent(s.agentText(r.AgentID))}
	model, _, err := s.model(tx, r)
	if err != nil {
		return Reply{}, err
	}
	lines = line(lines, w.LabelModel, model)
	lines = line(lines, w.LabelSession, r.Key.String())
	if lines, err = s.activity(tx, r, lines); err != nil {
		return Reply{}, err
	}
	if lines, err = s.spending(tx, r, lines); err != nil {
		return Reply{}, err
	}
	if !r.Bound {
		return Reply{Text: strings.Join(lines, "\n")}, nil
	}
	expiry, err := s.o.Bindings.Expiry(tx, r.Binding)
	lines = line(lines, w.LabelBinding, w.StatusBound(expiry, r.Binding.Owner, placeText(r.Binding)))
	return Reply{Text: strings.Join(lines, "\n")}, err
}

// activity says what the session does.
func (s Set) activity(tx *store.Tx, r Request, lines []string) ([]string, error) {
	w := r.Language
	var now []string
	turn, running, err := runningTurn(tx, r.Session.ID)
	if err != nil {
		return nil, err
	}
	if running {
		now = append(now, turnText(w, turn.Kind, r.Now.Sub(turn.Started)))
	}
	waits, err := waitTexts(tx, w, r.Session.ID)
	if err != nil {
		return nil, err
	}
	if now = append(now, waits...); len(now) == 0 {
		now = append(now, w.StatusIdle())
	}
	queued, err := tx.CountQueued(r.Session.ID)
	if err != nil {
		return nil, err
	}
	if queued > 0 {
		now = append(now, w.StatusWaiting(queued))
	}
	lines = append(lines, w.LabelNow(strings.Join(now, ", ")))
	mode, err := tx.Setting(r.Session.ID, store.SettingQueue)
	if err != nil {
		return nil, err
	}
	if mode == "" {
		mode = string(s.o.Config.QueueMode(r.Message.Address.Channel, r.Message.Address.Account))
	}
	lines = line(lines, w.LabelQueue, mode)
	text, err := s.liveText(tx, r)
	if text != "" {
		lines = append(lines, text)
	}
	return lines, err
}

// waitTexts say what the session waits for, and until when.
func waitTexts(tx *store.Tx, w words.Language, session int64) ([]string, error) {
	waits, err := tx.Waits(session)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, wait := range waits {
		text := w.StatusWaitsMessage()
		if wait.Kind == subagent.WaitChildren {
			if text, err = childrenText(tx, w, wait); err != nil {
				return nil, err
			}
		}
		if wait.Deadline != 0 {
			text = w.StatusUntil(moment(w, wait.Deadline), text)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// childrenText says which sub-agents a wait is for, those that have ended left
// out.
func childrenText(tx *store.Tx, w words.Language, wait store.Wait) (string, error) {
	var names []string
	for _, id := range wait.Batch {
		run, err := tx.RunByID(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if run.Status.Live() {
			names = append(names, core.Clip(run.Name(), nameLimit))
		}
	}
	live := len(names)
	need := wait.Need - (len(wait.Batch) - live)
	if live > labelsShown {
		names = append(names[:labelsShown], "…")
	}
	if need < live {
		return w.StatusWaitsSome(need, names), nil
	}
	return w.StatusWaitsChildren(names), nil
}

// spending says what the session and those below it used, and what is left of the
// budgets that it draws on, where there is any of it.
func (s Set) spending(tx *store.Tx, r Request, lines []string) ([]string, error) {
	if r.Session.ID != 0 {
		used, err := tx.UsageBelow(r.Session.ID)
		if err != nil {
			return nil, err
		}
		if used.Tokens() > 0 {
			lines = append(lines, r.Language.UsageSession(usedText(r.Language, used.Usage)))
		}
	}
	left, err := s.budgetLines(tx, r)
	return append(lines, left...), err
}

// labelsShown is how many sub-agents /status names.
const labelsShown = 3

// liveText says which sub-agents of the session are active, "" where none is.
func (s Set) liveText(tx *store.Tx, r Request) (string, error) {
	w := r.Language
	if r.Session.ID == 0 {
		return "", nil
	}
	runs, err := tx.LiveChildrenOf(r.Session.ID)
	if err != nil {
		return "", err
	}
	var names []string
	for _, run := range runs {
		names = append(names, core.Clip(run.Name(), nameLimit))
	}
	switch n := len(names); {
	case n == 0:
		return "", nil
	case n > labelsShown:
		return w.StatusSubagentsMore(n-labelsShown, n, names[:labelsShown]), nil
	default:
		return w.StatusSubagentsNamed(n, names), nil
	}
}

// agentText names an agent by its declared name and its id.
func (s Set) agentText(id string) string {
	if name := s.o.Config.AgentName(id); name != "" && name != id {
		return fmt.Sprintf("%s (%s)", core.Clip(name, nameLimit), id)
	}
	return id
}
