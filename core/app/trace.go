package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// TraceStep is one thing that happened in the tree of a task.
type TraceStep struct {
	// What it is: task (it was asked for), turn, model (an answer of the model), tool (a call), event (the outcome was handed to whoever asked), post (a message), or end.
	Kind string `json:"kind"`
	// Task that it belongs to.
	TaskID string `json:"taskId"`
	// Depth below the task that was asked for; 0 is that task.
	Level int `json:"level"`
	// When it happened or began.
	At core.Millis `json:"at"`
	// When it ended.
	EndedAt core.Millis `json:"endedAt,omitempty"`
	// State of a turn, a call, a message or the task.
	State string `json:"state,omitempty"`
	// What was asked, answered, called or sent, shortened.
	Text string `json:"text"`
	// Address of a message.
	Address string `json:"address,omitempty"`
	// Ids that the platform gave a message: its receipts.
	Receipts []string `json:"receipts,omitempty"`
	// Model that was asked, as <provider>/<model>.
	Model string `json:"model,omitempty"`
	// How long it was until the first piece of the model's answer.
	FirstAfter int64 `json:"firstAfter,omitempty"`
	// Tokens read, of a model's answer; of a turn those of its answers, of tries that failed and of compactions.
	TokensIn int64 `json:"tokensIn,omitempty"`
	// Tokens written, of the same.
	TokensOut int64 `json:"tokensOut,omitempty"`
	// The part of the tokens read that came from the provider's cache.
	CacheRead int64 `json:"cacheRead,omitempty"`
	// Cost, in millionths of a US dollar.
	MicroUSD int64 `json:"microUsd,omitempty"`
	// Tokens without a price.
	Unpriced int64 `json:"unpriced,omitempty"`
}

// TraceView is the tree of a task: above it who asked for it, below it what it
// asked for.
type TraceView struct {
	// The tasks that asked for it, the one at the top first.
	Above []TaskView `json:"above"`
	// The task.
	Task TaskView `json:"task"`
	// What happened, in order; what a sub-agent did stands where it was started.
	Steps []TraceStep `json:"steps"`
	// Whether the tree has more tasks than are shown.
	Cut bool `json:"cut,omitempty"`
}

// Bounds of a trace.
const (
	traceRuns = 200  // tasks
	traceRows = 1000 // messages and events of a session that are looked at
	traceText = 120  // characters of a text
)

// Trace shows the tree of one task, named as in Task.
func (v Views) Trace(tx *store.Tx, ref string) (TraceView, error) {
	out := TraceView{Above: []TaskView{}}
	run, err := findTask(tx, ref)
	if err != nil {
		return out, err
	}
	if out.Task, err = v.task(tx, run); err != nil {
		return out, err
	}
	for up := run; up.RequesterRun != "" && len(out.Above) < traceRuns; {
		if up, err = tx.RunByID(up.RequesterRun); err != nil {
			return out, err
		}
		view, err := v.task(tx, up)
		if err != nil {
			return out, err
		}
		out.Above = append([]TaskView{view}, out.Above...)
	}
	t := tracer{tx: tx, left: traceRuns}
	out.Steps, err = t.run(run, 0)
	out.Cut = t.left < 0
	return out, err
}

type tracer struct {
	tx   *store.Tx
	left int
}

// block is steps that stand together; at is when they began.
type block struct {
	at    core.Millis
	steps []TraceStep
}

// run returns the steps of a run and of everything below it.
func (t *tracer) run(run core.Run, level int) ([]TraceStep, error) {
	t.left--
	if t.left < 0 {
		return nil, nil
	}
	var blocks []block
	add := func(steps ...TraceStep) {
		for i := range steps {
			steps[i].TaskID, steps[i].Level = run.TaskID, level
		}
		blocks = append(blocks, block{steps[0].At, steps})
	}
	add(TraceStep{Kind: "task", At: run.CreatedAt, EndedAt: run.EndedAt, State: string(run.Status.Task()), Text: run.Name()})
	turns, err := t.tx.TurnsOfRun(run.ID)
	if err != nil {
		return nil, err
	}
	for _, turn := range turns {
		steps, err := t.turn(turn)
		if err != nil {
			return nil, err
		}
		for _, s := range steps { // children stand between them
			add(s)
		}
	}
	if err := t.told(run, add); err != nil {
		return nil, err
	}
	children, err := t.tx.ChildrenOfRun(run.ID)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		steps, err := t.run(child, level+1)
		if err != nil {
			return nil, err
		}
		if len(steps) > 0 {
			blocks = append(blocks, block{child.CreatedAt, steps})
		}
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(a.at, b.at) })
	var out []TraceStep
	for _, b := range blocks {
		out = append(out, b.steps...)
	}
	return out, nil
}

// turn returns a turn with its model calls and tool calls.
func (t *tracer) turn(turn store.Turn) ([]TraceStep, error) {
	out := []TraceStep{{
		Kind: "turn", At: turn.Started, EndedAt: turn.Ended, State: string(turn.State), Text: fmt.Sprintf("%d (%s)", turn.ID, turn.Kind),
		TokensIn: turn.TokensIn, TokensOut: turn.TokensOut, CacheRead: turn.CacheRead, MicroUSD: turn.MicroUSD, Unpriced: turn.Unpriced,
	}}
	rows, err := t.tx.RowsWrittenBy(turn)
	if err != nil {
		return nil, err
	}
	calls, err := t.tx.TimedSteps(turn.ID)
	if err != nil {
		return nil, err
	}
	byCall := make(map[string]store.TimedStep, len(calls))
	for _, c := range calls {
		byCall[c.CallID] = c
	}
	free := turn.Started // since when the model could work
	args := make(map[string]string)
	for _, row := range rows {
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return nil, err
		}
		if item.Kind == model.Assistant {
			for _, c := range item.Calls {
				args[c.ID] = string(c.Args)
			}
			out = append(out, answerStep(item, row, free))
		}
		if item.Kind == model.ToolOutput {
			c := byCall[item.CallID] // calls whose effect is rows alone have none
			delete(byCall, item.CallID)
			state := store.StepDone
			if item.Failed {
				state = "failed"
			}
			out = append(out, TraceStep{
				Kind: "tool", At: cmp.Or(c.Started, row.At), EndedAt: row.At, State: string(state), Text: core.Clip(item.Tool+" "+args[item.CallID], traceText),
			})
		}
		free = max(turn.Started, row.At)
	}
	for _, c := range calls {
		if _, open := byCall[c.CallID]; open { // in progress
			out = append(out, TraceStep{Kind: "tool", At: c.Started, State: string(c.State), Text: core.Clip(c.Tool+" "+args[c.CallID], traceText)})
		}
	}
	slices.SortStableFunc(out, func(a, b TraceStep) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// answerStep is an answer of the model, which could work since free.
func answerStep(item model.Item, row store.Row, free core.Millis) TraceStep {
	said := []string{model.Text(item)}
	for _, c := range item.Calls {
		said = append(said, "→ "+c.Name)
	}
	s := TraceStep{Kind: "model", At: min(free, row.At), EndedAt: row.At, Text: core.Clip(strings.Join(said, " "), traceText)}
	if by := item.By; by != nil {
		s.At, s.Model, s.FirstAfter = by.At, by.Model, by.FirstAfter
		s.TokensIn, s.TokensOut, s.CacheRead, s.MicroUSD, s.Unpriced = by.TokensIn, by.TokensOut, by.CacheRead, by.MicroUSD, by.Unpriced
	}
	return s
}

// told adds what became of the outcome: its messages with their receipts, and
// the event that its requester took.
func (t *tracer) told(run core.Run, add func(...TraceStep)) error {
	if run.EndedAt != 0 {
		add(TraceStep{Kind: "end", At: run.EndedAt, State: string(run.Status.Task()), Text: core.Clip(cmp.Or(run.Result, run.Detail), traceText)})
	}
	if run.EndedAt != 0 {
		if err := t.events(run, add); err != nil {
			return err
		}
	}
	posts, err := t.tx.PostsOf(run, traceRows)
	if err != nil {
		return err
	}
	for _, m := range posts {
		receipts, err := t.tx.SentParts(m.ID)
		if err != nil {
			return err
		}
		add(TraceStep{
			Kind: "post", At: m.At, EndedAt: m.EndedAt, State: string(m.State), Address: m.Address.String(), Receipts: receipts,
			Text: core.Clip(m.Text, traceText),
		})
	}
	return nil
}

// events adds the event that the requester took.
func (t *tracer) events(run core.Run, add func(...TraceStep)) error {
	events, err := t.tx.EventRows(run.Requester, run.EndedAt, traceRows)
	if err != nil {
		return err
	}
	for _, row := range events {
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return err
		}
		if item.Completion != nil && item.Completion.RunID == run.ID {
			add(TraceStep{Kind: "event", At: row.At, State: string(item.Completion.Status), Text: "to " + run.RequesterID})
		}
	}
	return nil
}
