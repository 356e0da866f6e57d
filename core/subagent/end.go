package subagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// Progress implements agent.Ender: what an agent says before it calls tools is
// posted in a chat. A run's progress is its own.
func (e *Engine) Progress(tx *store.Tx, l *kernel.Lease, seq int, text string, preview int64) error {
	if l.Turn.Run == "" && !l.Turn.ReplyTo.IsZero() && text != "" {
		_, _, err := e.Poster.Post(tx, store.Outbox{
			OnceKey: fmt.Sprintf("turn/%d/%d", l.Turn.ID, seq), Kind: store.OutProgress, Address: l.Turn.ReplyTo, Anchor: l.Turn.Anchor,
			Persona: e.persona(tx, l), Text: text, Session: l.Session.ID, Owner: l.Turn.Owner, Preview: preview, At: e.World.Now(),
		})
		if err != nil {
			return err
		}
	}
	return e.dropPreview(tx, preview)
}

// persona is the name under which a bound session speaks, where the channel
// can show one.
func (e *Engine) persona(tx *store.Tx, l *kernel.Lease) string {
	if !l.Session.Kind.Spawned() {
		return ""
	}
	b, ok, err := tx.BindingAt(l.Turn.ReplyTo.Place())
	if err != nil || !ok || b.Session != l.Session.ID {
		return ""
	}
	return b.Label
}

// Prepare implements agent.Ender: it asks the extensions where the outcomes
// that this turn may tell of are told.
func (e *Engine) Prepare(ctx context.Context, l *kernel.Lease, out *agent.Outcome) error {
	if l.Turn.Run != "" || out.Yield != nil || !e.Bindings.Redirects() {
		return nil
	}
	var untold []core.Run
	err := e.DB.Read(ctx, func(tx *store.Tx) (err error) {
		untold, err = e.untold(tx, l, out.Events)
		return err
	})
	if err != nil || len(untold) == 0 {
		return err
	}
	out.Targets = make(map[agent.Telling]core.Address)
	ask := func(r core.Run, to core.Address) {
		key := agent.Telling{Run: r.ID, At: to.Place()}
		if _, asked := out.Targets[key]; !asked && !to.IsZero() {
			out.Targets[key] = e.Bindings.DeliveryTarget(ctx, r, to)
		}
	}
	ask(untold[0], l.Turn.ReplyTo) // one answer for all
	for _, r := range untold {     // or a notice of each
		ask(r, r.Origin)
	}
	return nil
}

// target is where the outcome of a run is told that would be told at to.
func target(out agent.Outcome, r core.Run, to core.Address) core.Address {
	if other, ok := out.Targets[agent.Telling{Run: r.ID, At: to.Place()}]; ok {
		return other
	}
	return to
}

// End implements agent.Ender. What the turn showed of an answer and nothing
// replaces goes.
func (e *Engine) End(tx *store.Tx, l *kernel.Lease, out agent.Outcome) error {
	if err := e.endTurn(tx, l, out); err != nil {
		return err
	}
	return e.dropPreview(tx, out.Preview)
}

func (e *Engine) endTurn(tx *store.Tx, l *kernel.Lease, out agent.Outcome) error {
	if out.Dropped > 0 && !l.Turn.ReplyTo.IsZero() {
		_, _, err := e.Poster.Post(tx, store.Outbox{
			OnceKey: fmt.Sprintf("turn/%d/dropped", l.Turn.ID), Kind: store.OutNotice, Address: l.Turn.ReplyTo, Session: l.Session.ID, Owner: l.Turn.Owner,
			Text: strings.Join(append([]string{e.Config.Language().FailureDropped(out.Dropped)}, out.Left...), "\n> "),
			At:   e.World.Now(),
		})
		if err != nil {
			return err
		}
	}
	if out.Over != nil && out.Over.Agent != "" && e.OnBudget != nil {
		if err := e.OnBudget(tx, out.Over); err != nil {
			return err
		}
	}
	if l.Turn.Run == "" {
		return e.endChat(tx, l, out)
	}
	run, err := tx.RunByID(l.Turn.Run)
	if err != nil {
		return err
	}
	if err := e.consumed(tx, out.Events); err != nil {
		return err
	}
	if !run.Status.Live() { // stopped meanwhile
		return nil
	}
	return e.endRunTurn(tx, l, run, out)
}

// endRunTurn parks a run that still waits for something, or ends it.
func (e *Engine) endRunTurn(tx *store.Tx, l *kernel.Lease, run core.Run, out agent.Outcome) error {
	if out.Yield != nil {
		parked, err := e.yieldRun(tx, l, run, out)
		if parked || err != nil {
			return err
		}
	}
	if out.Status == core.RunOK {
		if on, err := e.goesOn(tx, l, run, out); on || err != nil {
			return err
		}
		if out.Yield == nil {
			parked, err := e.park(tx, l, run, out)
			if parked || err != nil {
				return err
			}
		}
	}
	if err := e.dropWaits(tx, l, run, WaitChildren, WaitMessage); err != nil {
		return err
	}
	if out.Status != core.RunOK { // else there are none
		if err := tx.ClearSteers(l.Session.ID, run.ID); err != nil {
			return err
		}
	}
	status, detail, partial := out.Status, out.Detail, out.Partial
	text := out.Text
	if text == "" && out.Silence == "" {
		text = run.Result // said before it waited
	}
	if status == core.RunOK && out.CallsFailed {
		status, detail, partial = core.RunError, words.English().DetailCallsFailed(), true
	}
	if status == core.RunError && !partial {
		text = ""
	}
	return e.finish(tx, run, Ended{
		Status: status, Detail: detail, Text: text, Partial: partial, Silence: out.Silence, Preview: out.Preview,
		LastTool: out.LastTool, Calls: out.Calls,
	})
}

// consumed notes that a nested requester's turn has taken these events: that
// is their delivery, unless nobody needed to be told.
func (e *Engine) consumed(tx *store.Tx, events []model.Completion) error {
	for _, ev := range events {
		if ev.Told {
			continue
		}
		if err := e.settled(tx, ev.RunID, core.DeliveryDelivered, e.World.Now()); err != nil {
			return err
		}
	}
	return nil
}

// endChat ends a turn that a person or a completion started at top level.
func (e *Engine) endChat(tx *store.Tx, l *kernel.Lease, out agent.Outcome) error {
	if out.Yield != nil {
		return e.yieldChat(tx, l, out)
	}
	untold, err := e.untold(tx, l, out.Events)
	if err != nil {
		return err
	}
	text, kind := out.Text, store.OutFinal
	switch {
	case out.State == store.TurnCancelled && out.Status == core.RunCancelled:
		text = "" // whoever stopped it was told
	case out.Over != nil:
		text, kind = e.Config.Language().FailureBudget(out.Detail), store.OutNotice
	case out.State != store.TurnDone:
		text, kind = e.Config.Language().FailureTurn(out.Detail), store.OutNotice
	case text == "" && out.Silence != "":
		return e.settle(tx, untold, core.DeliveryNotRequired)
	case text == "" && !out.Spoke && len(out.Events)+len(untold) == 0:
		text, kind = e.Config.Language().FailureNoAnswer(), store.OutNotice
	}
	if out.State == store.TurnDone && (text != "" || out.Spoke) {
		if text == "" { // what it said on the way is the answer
			return e.settle(tx, untold, core.DeliveryDelivered)
		}
		return e.post(tx, l, out, text, kind, untold)
	}
	told, err := e.noticeAll(tx, out, untold)
	if err != nil || text == "" || told > 0 && !out.Asked && out.Over == nil {
		return err
	}
	return e.post(tx, l, out, text, kind, nil)
}

// post answers at the turn's one reply address.
func (e *Engine) post(tx *store.Tx, l *kernel.Lease, out agent.Outcome, text string, kind store.OutboxKind, tells []core.Run) error {
	to := l.Turn.ReplyTo
	if len(tells) > 0 {
		to = target(out, tells[0], to)
	}
	if to.IsZero() {
		return e.settle(tx, tells, core.DeliveryNotRequired)
	}
	if out.Calls > 0 && kind == store.OutFinal {
		if said, err := e.saidAlready(tx, l, to, text, tells); said || err != nil {
			return err
		}
	}
	id, _, err := e.Poster.Post(tx, store.Outbox{
		OnceKey: fmt.Sprintf("turn/%d/end", l.Turn.ID), Kind: kind, Address: to, Anchor: l.Turn.Anchor, Persona: e.persona(tx, l),
		Text: text, Session: l.Session.ID, Tells: ids(tells), Owner: l.Turn.Owner, Preview: out.Preview, At: e.World.Now(),
	})
	if err == nil && id == 0 { // nothing of it may be shown
		_, err = e.noticeAll(tx, out, tells)
	}
	return err
}

// saidAlready reports whether the turn has posted its answer, word for word, at
// the same place with the message tool: one message is enough. One that is not
// sent yet cannot vouch for outcomes.
func (e *Engine) saidAlready(tx *store.Tx, l *kernel.Lease, to core.Address, text string, tells []core.Run) (bool, error) {
	rows, err := tx.LatestProgress(l.Session.ID, postsLooked)
	if err != nil {
		return false, err
	}
	key := fmt.Sprintf("turn/%d/", l.Turn.ID)
	for _, row := range rows {
		posted := strings.HasPrefix(row.OnceKey, key) && strings.HasSuffix(row.OnceKey, "/message")
		if !posted || !row.Address.Same(to) || strings.TrimSpace(row.Text) != strings.TrimSpace(text) {
			continue
		}
		if len(tells) == 0 || row.State == store.OutSent {
			return true, e.settle(tx, tells, core.DeliveryDelivered)
		}
	}
	return false, nil
}

// postsLooked bounds how many posts of a turn its answer is compared with.
const postsLooked = 20

func ids(runs []core.Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return out
}

// untold returns the runs that this chain of turns has consumed and people do
// not know of yet: the events of this turn, and those of earlier turns of the
// chain that went on waiting, whoever had asked for them.
func (e *Engine) untold(tx *store.Tx, l *kernel.Lease, events []model.Completion) ([]core.Run, error) {
	goesOn := l.Turn.Chain != 0 && l.Turn.Chain != l.Turn.ID
	if len(events) == 0 && !goesOn {
		return nil, nil
	}
	seen := make(map[string]bool)
	var out []core.Run
	add := func(r core.Run) {
		if !seen[r.ID] && r.Delivery == core.DeliverySessionQueued {
			out = append(out, r)
		}
		seen[r.ID] = true
	}
	children, err := tx.ChildrenOfChain(l.Session.ID, l.Turn.Chain)
	if err != nil {
		return nil, err
	}
	for _, r := range children {
		if r.Status.Live() || r.Delivery != core.DeliverySessionQueued {
			seen[r.ID] = true
			continue
		}
		pending, err := tx.CompletionPending(l.Session.ID, r.ID)
		if err != nil {
			return nil, err
		}
		if !pending {
			add(r)
		}
	}
	if goesOn {
		rows, err := tx.EventsOfChain(l.Session.ID, l.Turn.Chain)
		if err != nil {
			return nil, err
		}
		before, err := eventsIn(rows)
		if err != nil {
			return nil, err
		}
		events = append(before, events...)
	}
	for _, ev := range events {
		if seen[ev.RunID] {
			continue
		}
		r, err := tx.RunByID(ev.RunID)
		if goesOn && errors.Is(err, store.ErrNotFound) {
			continue // it was taken long ago, and is removed
		}
		if err != nil {
			return nil, err
		}
		add(r)
	}
	return out, nil
}

// settle records the delivery of runs without a post.
func (e *Engine) settle(tx *store.Tx, runs []core.Run, d core.Delivery) error {
	for _, r := range runs {
		if err := e.settled(tx, r.ID, d, e.World.Now()); err != nil {
			return err
		}
	}
	return nil
}

// noticeAll tells people about runs in the runtime's own words, because the
// requester's turn did not, and returns how many notices it posted. What was
// posted in a child's own thread is told.
func (e *Engine) noticeAll(tx *store.Tx, out agent.Outcome, runs []core.Run) (posted int, err error) {
	for _, r := range runs {
		_, err := tx.OutboxByOnce(onceKey(r))
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return posted, err
		}
		origin, anchor, err := e.tellAt(tx, r)
		if err != nil {
			return posted, err
		}
		to := target(out, r, origin)
		if to.IsZero() {
			if err := e.blocked(tx, r, words.English().DetailNowhere(), e.World.Now()); err != nil {
				return posted, err
			}
			continue
		}
		_, _, err = e.Poster.Post(tx, store.Outbox{
			OnceKey: onceKey(r) + "/notice", Kind: store.OutNotice, Address: to, Anchor: anchor, Text: Notice(e.Config.Language(), r),
			Session: r.Requester, Run: r.ID, Tells: []string{r.ID}, Owner: r.Owner, At: e.World.Now(),
		})
		if err != nil {
			return posted, err
		}
		posted++
	}
	return posted, nil
}

// onceKey names an outcome for ever.
func onceKey(r core.Run) string { return fmt.Sprintf("run/%s/%d", r.SessionKey, r.Completion) }

func excerpt(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}

// Ended says how a run ended.
type Ended struct {
	Status  core.RunStatus
	Detail  string
	Text    string
	Partial bool
	Silence string // the silence token the agent chose, "" for none
	// Quiet is set where people know already: nothing is posted, and the event
	// settles joins but starts no turn of its own.
	Quiet bool
	// Preview is the row that shows a part of Text already, 0 for none.
	Preview int64
	// LastTool is what the run called last, Calls how many calls had ended.
	LastTool string
	Calls    int
}

// silent reports whether the run chose that nobody is told.
func (end Ended) silent() bool { return end.Status == core.RunOK && end.Silence != "" }

// finish ends a run: in this one transaction its end, the post in its thread,
// and the event for its requester.
func (e *Engine) finish(tx *store.Tx, run core.Run, end Ended) error {
	now := e.World.Now()
	silent := end.Quiet || end.silent()
	told := silent || run.Notify == core.NotifySilent
	delivery := core.DeliverySessionQueued
	if told || !run.Spec.ExpectsCompletion {
		delivery = core.DeliveryNotRequired
	}
	ok, err := tx.EndRun(run.ID, end.Status, end.Detail, end.Text, end.Partial, delivery, now)
	if err != nil || !ok {
		return err
	}
	if err := tx.Crash(world.CompletionBeforeClaim); err != nil {
		return err
	}
	if err := e.closeTools(tx, run.ID); err != nil {
		return err
	}
	if err := e.leaveWaits(tx, run); err != nil {
		return err
	}
	run.Status, run.Detail, run.Result, run.Partial, run.Delivery, run.EndedAt = end.Status, end.Detail, end.Text, end.Partial, delivery, now
	posted, err := e.postInThread(tx, run, silent, end.Preview)
	if err != nil {
		return err
	}
	if run.Spec.ExpectsCompletion {
		if err := e.hand(tx, run, posted, told, end); err != nil {
			return err
		}
	}
	if err := e.passUp(tx, run); err != nil {
		return err
	}
	if err := e.planArchive(tx, run, told || !run.Spec.ExpectsCompletion); err != nil {
		return err
	}
	tx.OnCommit(func() { e.told(run) })
	return nil
}

// postInThread posts the outcome of a child that lives in a thread, once, and
// returns the place.
func (e *Engine) postInThread(tx *store.Tx, run core.Run, silent bool, preview int64) (core.Address, error) {
	b, bound, err := tx.BindingOfRun(run.ID)
	if err != nil || !bound || b.Status == core.BindingPending {
		return core.Address{}, err
	}
	answers := run.Status == core.RunOK && run.Result != ""
	if silent || run.Notify == core.NotifySilent && !answers {
		if run.Spec.Mode == modeRun {
			return core.Address{}, e.Bindings.End(tx, b.ID, core.EndSessionEnded)
		}
		return core.Address{}, nil
	}
	text, kind := run.Result, store.OutFinal
	if !answers {
		text, kind = Notice(e.Config.Language(), run), store.OutNotice
	}
	to := b.Address
	if b.Status == core.BindingSuspended {
		to = b.Address.ParentConversation()
		text = e.Config.Language().MovedSuspended(run.Name()) + "\n\n" + text
	}
	tells := []string{run.ID}
	if run.Notify == core.NotifySilent {
		tells = nil // nobody needs to be told
	}
	_, _, err = e.Poster.Post(tx, store.Outbox{
		OnceKey: onceKey(run), Kind: kind, Address: to, Persona: b.Label, Text: text, Session: run.Session, Run: run.ID,
		Tells: tells, Owner: run.Owner, Preview: preview, At: e.World.Now(),
	})
	return to, err
}
