package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// spawnKind is the kind of an intent that /subagents spawn leaves while it opens
// a thread; its body is the subagent.Asked.
const spawnKind = "spawn-asked"

// spawnArgs are the arguments of /subagents spawn.
type spawnArgs struct {
	agent, task, model, thinking string
	thread                       bool
}

// parseSpawn reads <agent> <task> with options before and behind the task. What
// looks like an option within the task is part of it.
func parseSpawn(args string) (a spawnArgs, ok bool) {
	a.agent, a.task = cutTarget(args)
	for {
		word, rest := cutWord(a.task)
		value, after := cutWord(rest)
		taken, bad := a.option(word, value)
		if bad {
			return a, false
		}
		if taken == 0 {
			break
		}
		if a.task = rest; taken == 2 {
			a.task = after
		}
	}
	for {
		before, word := cutLastWord(a.task)
		further, name := cutLastWord(before)
		taken, bad := a.option(name, word)
		if taken != 2 && !bad {
			further = before
			taken, bad = a.option(word, "")
		}
		if bad {
			return a, false
		}
		if taken == 0 {
			break
		}
		a.task = further
	}
	a.task = unquoted(a.task)
	return a, a.agent != "" && a.task != ""
}

// option takes one option and says of how many words it is, 0 where word is none.
// bad is one without its value, or one that was given before.
func (a *spawnArgs) option(word, next string) (taken int, bad bool) {
	name, value, joined := strings.Cut(optionName(word), "=")
	var into *string
	switch {
	case name == "thread" && !joined:
		bad, a.thread = a.thread, true
		return 1, bad
	case name == "model":
		into = &a.model
	case name == "thinking":
		into = &a.thinking
	default:
		return 0, false
	}
	if taken = 1; !joined {
		value, taken = next, 2
	}
	if value == "" || *into != "" || optionName(value) != "" {
		return 0, true
	}
	*into = value
	return taken, false
}

// optionName is the name of a long option, "" for another word. Telephones write
// a dash for two hyphens.
func optionName(word string) string {
	for _, mark := range []string{"--", "—", "–"} {
		if name, ok := strings.CutPrefix(word, mark); ok {
			return name
		}
	}
	return ""
}

// cutLastWord splits text before its last word; both parts are trimmed.
func cutLastWord(text string) (rest, word string) {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexAny(text, " \t\r\n\v\f"); i >= 0 {
		return strings.TrimSpace(text[:i]), text[i+1:]
	}
	return "", text
}

// spawn is /subagents spawn. Without a thread the sub-agent begins in the
// transaction of the message; a thread is opened after it.
func (s Set) spawn(tx *store.Tx, r Request, args string) (Reply, error) {
	in, ok := parseSpawn(args)
	if !ok {
		return Reply{}, words.RefuseUsageSpawn(CodeUsage)
	}
	key := intentKey(r.Message)
	if in.thread {
		if again, reply, err := s.again(tx, key); again || err != nil {
			return reply, err
		}
	}
	if err := s.maySpawn(tx, r); err != nil {
		return Reply{}, err
	}
	requester, made, err := s.requester(tx, r)
	if err != nil {
		return Reply{}, err
	}
	a := subagent.Asked{
		Key: key, Session: requester.ID, At: r.Message.Address, Kind: r.Message.Kind, Anchor: r.Message.ID, Owner: r.Actor,
		Policy: s.o.Config.PolicyOf(r.Message), Agent: s.agentID(in.agent), Task: in.task, Model: in.model, Thinking: in.thinking,
	}
	if ref, found := s.o.Config.FindModel(a.Model); found {
		a.Model = ref
	}
	if in.thread {
		body, err := json.Marshal(a)
		if err != nil {
			return Reply{}, err
		}
		err = tx.InsertIntent(store.Intent{Turn: key, Kind: spawnKind, Body: string(body), At: r.Now})
		return Reply{Silent: true, After: func(ctx context.Context) { s.spawnThread(ctx, a) }}, err
	}
	started, err := s.o.Spawner.SpawnAsked(tx, a)
	if err != nil {
		if made && core.ErrorCode(err) != "" { // a refusal leaves nothing behind
			err = errors.Join(err, tx.DeleteSession(requester.ID))
		}
		return Reply{}, err
	}
	return Reply{Text: s.startedText(started)}, nil
}

// maySpawn refuses a spawn where the agent of the conversation, asked by the same
// person, would not have the tool for it. That a leaf has none is left to the
// limits, whose refusal has figures.
func (s Set) maySpawn(tx *store.Tx, r Request) error {
	scope, err := s.toolScope(tx, r)
	if err != nil {
		return err
	}
	removed, lacks := s.o.Config.Tools(scope).Explain(subagent.SpawnName)
	if !lacks || removed.Why == policy.WhyLeaf {
		return nil
	}
	w := r.Language
	return words.RefuseSpawnDenied(CodeToolDenied, stageWord(w, removed.Stage), whyText(w, removed.Why, removed.Entry))
}

// requester returns the session of the request, and whether it had to be made.
func (s Set) requester(tx *store.Tx, r Request) (session store.Session, made bool, err error) {
	if r.Session.ID != 0 && r.Session.ArchivedAt == 0 {
		return r.Session, false, nil
	}
	made = r.Session.ID == 0
	r.Session.ID = 0 // an archived one is begun anew
	session, err = ensure(tx, r)
	return session, made, err
}

// agentID is the agent that a person means by its id or by its declared name;
// what nobody is called stays as it is.
func (s Set) agentID(name string) string {
	ids := s.o.Config.AgentIDs()
	if slices.Contains(ids, name) {
		return name
	}
	for _, id := range ids {
		if strings.EqualFold(id, name) || strings.EqualFold(s.o.Config.AgentName(id), name) {
			return id
		}
	}
	return name
}

// startedText is the answer to a /subagents spawn that has begun.
func (s Set) startedText(st subagent.Started) string {
	w := s.o.Config.Language()
	run := st.Run
	name, agent := core.Clip(run.Name(), nameLimit), s.agentText(run.Agent)
	text := w.SpawnStarted(agent, run.Ordinal, name)
	if !st.Thread.IsZero() {
		text = w.SpawnThread(agent, run.Ordinal, name)
	}
	if st.Unbound != "" {
		text += " " + w.SpawnUnbound(run.Ordinal)
	}
	for _, model := range st.Skipped {
		text += " " + w.SpawnModelSkipped(core.Clip(model, nameLimit), run.Spec.Model)
	}
	return text
}

// errAnswered: another process answered the command meanwhile.
var errAnswered = errors.New("command: the spawn was answered meanwhile")

// spawnThread is what comes after the transaction of a spawn with a thread.
func (s Set) spawnThread(ctx context.Context, a subagent.Asked) {
	if s.o.Presence != nil {
		s.o.Presence.Typing(ctx, a.At)
	}
	err := s.o.Spawner.ThreadAsked(ctx, a, func(tx *store.Tx, st subagent.Started, refusal error) error {
		if refusal != nil {
			return s.closeSpawn(tx, a, s.o.Config.Language().Refusal(refusal))
		}
		return s.closeSpawn(tx, a, s.startedText(st))
	})
	if err == nil || s.o.World.Err() != nil || errors.Is(err, errAnswered) {
		return
	}
	s.o.Log.Error("a /subagents spawn could not open its thread", "address", a.At.String(), "error", err)
	if ctx.Err() != nil {
		return // it goes on after the restart
	}
	err = s.o.DB.Write(ctx, func(tx *store.Tx) error { return s.closeSpawn(tx, a, s.o.Config.Language().SpawnFailed()) })
	if err != nil && !errors.Is(err, errAnswered) && s.o.World.Err() == nil {
		s.o.Log.Error("a /subagents spawn could not be answered", "address", a.At.String(), "error", err)
	}
}

// closeSpawn ends the intent of a spawn with the reply to its command.
func (s Set) closeSpawn(tx *store.Tx, a subagent.Asked, text string) error {
	in, err := tx.IntentAt(a.Key, 0)
	if err == nil && in.State != "open" {
		err = errAnswered
	}
	if err != nil {
		return err
	}
	if err := tx.CloseIntent(a.Key, 0, ""); err != nil {
		return err
	}
	_, _, err = s.o.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("spawn/%d", -a.Key), Kind: store.OutCommand, Address: a.At, Anchor: a.Anchor, Text: Fit(text), Owner: a.Owner, At: s.o.World.Now(),
	})
	return err
}

// proceedSpawn continues a stored intent of a spawn with a thread.
func (s Set) proceedSpawn(ctx context.Context, stored store.Intent) {
	var a subagent.Asked
	if err := json.Unmarshal([]byte(stored.Body), &a); err != nil {
		s.o.Log.Error("a /subagents spawn could not be continued", "error", err)
		return
	}
	s.spawnThread(ctx, a)
}
