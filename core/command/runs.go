package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// latestRun returns the newest run of a session, a zero run if it has none.
func latestRun(tx *store.Tx, session int64) (core.Run, error) {
	run, err := tx.LatestRunOfSession(session)
	if errors.Is(err, store.ErrNotFound) {
		return core.Run{}, nil
	}
	return run, err
}

func runningTurn(tx *store.Tx, session int64) (store.Turn, bool, error) {
	turn, err := tx.RunningTurn(session)
	if errors.Is(err, store.ErrNotFound) {
		return turn, false, nil
	}
	return turn, err == nil, err
}

// runs returns the sub-agents of the conversation's session that are active or
// ended a short while ago.
func (s Set) runs(tx *store.Tx, r Request) ([]Target, error) {
	v := &resolver{tx: tx, r: r, config: s.o.Config}
	return v.children()
}

// agents is /agents.
func (s Set) agents(tx *store.Tx, r Request) (Reply, error) {
	targets, err := s.runs(tx, r)
	if err != nil {
		return Reply{}, err
	}
	head := noRuns
	if len(targets) > 0 {
		head = "Sub-agents:"
	}
	if r.Bound {
		expiry, err := s.o.Bindings.Expiry(tx, r.Binding)
		if err != nil {
			return Reply{}, err
		}
		head = fmt.Sprintf("This place is focused on %s, %s.\n%s", focusName(r.Binding), expiry, head)
	}
	var rows []string
	for _, t := range targets {
		bound, err := s.boundText(tx, r, t)
		if err != nil {
			return Reply{}, err
		}
		rows = append(rows, fmt.Sprintf("%d. %s · %s · %s", t.Run.Ordinal, core.Clip(t.Label, nameLimit), runState(t.Run, r.Now), bound))
	}
	return Reply{Text: list(head, rows, s.agentNames())}, nil
}

func focusName(b core.Binding) string {
	if b.Label != "" {
		return core.Clip(b.Label, nameLimit)
	}
	return b.Agent
}

// agentNames lists the agents that /focus finds, where there are several.
func (s Set) agentNames() string {
	ids := s.o.Config.AgentIDs()
	if len(ids) < 2 {
		return ""
	}
	var names []string
	for _, id := range ids {
		names = append(names, s.agentText(id))
	}
	return cut("Agents: "+strings.Join(names, ", "), 400)
}

// boundText says where a sub-agent is bound and until when.
func (s Set) boundText(tx *store.Tx, r Request, t Target) (string, error) {
	bindings, err := tx.BindingsOfSession(t.Session.ID)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, b := range bindings {
		if b.Status == core.BindingPending {
			continue
		}
		expiry, err := s.o.Bindings.Expiry(tx, b)
		if err != nil {
			return "", err
		}
		text := placeText(b) + " · " + expiry
		if b.Status == core.BindingSuspended {
			text += " · suspended"
		}
		parts = append(parts, text)
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", "), nil
	case !s.o.Bindings.Bindable(r.Message.Address):
		return unavailable, nil
	}
	return unbound, nil
}

// subagents is /subagents.
func (s Set) subagents(tx *store.Tx, r Request) (Reply, error) {
	verb, rest := cutWord(r.Args)
	switch {
	case (verb == "list" || verb == "") && rest == "":
		return s.listRuns(tx, r)
	case verb == "info" && rest != "":
		return s.runInfo(tx, r, rest)
	case verb == "log" && rest != "":
		return s.runLog(tx, r, rest)
	}
	return Reply{}, refuseUsage("/subagents list, /subagents info <target>, or /subagents log <target> [limit] [tools]")
}

func (s Set) listRuns(tx *store.Tx, r Request) (Reply, error) {
	targets, err := s.runs(tx, r)
	if err != nil {
		return Reply{}, err
	}
	if len(targets) == 0 {
		return Reply{Text: noRuns}, nil
	}
	var rows []string
	for _, t := range targets {
		row := fmt.Sprintf("%d. %s · %s", t.Run.Ordinal, core.Clip(t.Label, nameLimit), runState(t.Run, r.Now))
		if t.Run.TaskName != "" && t.Run.TaskName != t.Label {
			row += " · " + t.Run.TaskName
		}
		if tokens := t.Run.Tokens(); tokens > 0 {
			row += fmt.Sprintf(" · %d tokens", tokens)
		}
		rows = append(rows, row)
	}
	return Reply{Text: list("Sub-agents:", rows, "")}, nil
}

// runInfo is /subagents info.
func (s Set) runInfo(tx *store.Tx, r Request, token string) (Reply, error) {
	t, err := s.resolve(tx, r, token, false)
	if err != nil {
		return Reply{}, err
	}
	bound, err := s.boundText(tx, r, t)
	if err != nil {
		return Reply{}, err
	}
	run := t.Run
	lines := []string{fmt.Sprintf("%d. %s · %s", run.Ordinal, core.Clip(t.Label, nameLimit), runState(run, r.Now))}
	lines = line(lines, "Task", "%s", core.Clip(run.Task, 200))
	lines = line(lines, "Task name", "%s", run.TaskName)
	lines = line(lines, "Detail", "%s", core.Clip(run.Detail, 200))
	lines = line(lines, "Agent", "%s, %s, depth %d", s.agentText(run.Agent), run.Role, run.Depth)
	lines = line(lines, "Model", "%s", run.Spec.Model)
	lines = line(lines, "Mode", "%s, context %s", run.Spec.Mode, run.Spec.Context)
	lines = line(lines, "Created", "%s", moment(run.CreatedAt))
	lines = line(lines, "Started", "%s", moment(run.StartedAt))
	lines = line(lines, "Ended", "%s", moment(run.EndedAt))
	lines = line(lines, "Tokens", "%d in, %d out", run.TokensIn, run.TokensOut)
	if run.MicroUSD > 0 {
		lines = line(lines, "Cost", "%s", run.Cost())
	}
	lines = line(lines, "Binding", "%s", bound)
	lines = line(lines, "Session", "%s", t.Session.Key)
	lines = line(lines, "Session id", "%d", t.Session.ID)
	lines = line(lines, "Transcript", "%s", subagent.TranscriptRef(run))
	lines = line(lines, "Run", "%s", run.ID)
	lines = line(lines, "Cleanup", "%s", run.Spec.Cleanup)
	lines = line(lines, "Delivery", "%s", deliveryText(run))
	return Reply{Text: strings.Join(lines, "\n")}, nil
}

// The turns that /subagents log shows.
const (
	logTurns    = 20
	logMost     = 200
	logRowLimit = 400 // characters of one row
)

// runLog is /subagents log. A number at the end is the limit unless it belongs
// to a name.
func (s Set) runLog(tx *store.Tx, r Request, args string) (Reply, error) {
	words := strings.Fields(args)
	turns, tools := logTurns, false
	if n := len(words) - 1; n > 0 && words[n] == "tools" {
		words, tools = words[:n], true
	}
	t, err := s.resolve(tx, r, strings.Join(words, " "), false)
	if n := len(words) - 1; n > 0 && core.ErrorCode(err) == CodeTargetUnknown {
		if limit, bad := strconv.Atoi(words[n]); bad == nil {
			turns = min(max(limit, 1), logMost)
			t, err = s.resolve(tx, r, strings.Join(words[:n], " "), false)
		}
	}
	if err != nil {
		return Reply{}, err
	}
	rows, err := tx.WholeTranscript(t.Session)
	if err != nil {
		return Reply{}, err
	}
	// What a fork inherited is not its own.
	rows = slices.DeleteFunc(rows, func(row store.Row) bool { return row.Session != t.Session.ID })
	lines, err := logLines(rows, turns, tools)
	if err != nil {
		return Reply{}, err
	}
	name := core.Clip(t.Label, nameLimit)
	if len(lines) == 0 {
		return Reply{Text: fmt.Sprintf("%s has said nothing yet.", name)}, nil
	}
	return Reply{Text: latest(fmt.Sprintf("%d. %s, newest last:", t.Run.Ordinal, name), lines)}, nil
}

// logLines words the rows of the last turns.
func logLines(rows []store.Row, turns int, tools bool) ([]string, error) {
	first := len(rows)
	for seen := []int64(nil); first > 0; first-- {
		turn := rows[first-1].Turn
		if slices.Contains(seen, turn) {
			continue
		}
		if len(seen) == turns {
			break
		}
		seen = append(seen, turn)
	}
	var out []string
	for _, row := range rows[first:] {
		item, err := model.DecodeItem(row.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, logItem(item, tools)...)
	}
	return out, nil
}

// logItem words one transcript item; reasoning never shows, and calls only
// with tools.
func logItem(item model.Item, tools bool) []string {
	var out []string
	say := func(who, text string) {
		if text = core.Clip(delivery.Gate(text), logRowLimit); text != "" {
			out = append(out, who+": "+text)
		}
	}
	switch item.Kind {
	case model.User:
		who := "person"
		if item.Author != nil && item.Author.Name != "" {
			who = core.Clip(item.Author.Name, nameLimit)
		}
		if task, ok := strings.CutPrefix(item.Text, subagentTask); ok {
			who, item.Text = "task", task
		}
		say(who, item.Text)
	case model.Assistant:
		say("agent", item.Text)
		for _, c := range item.Calls {
			if tools {
				out = append(out, core.Clip(fmt.Sprintf("call: %s %s", c.Name, c.Args), logRowLimit))
			}
		}
	case model.ToolOutput:
		if tools {
			say(item.Tool, item.Text)
		}
	case model.Event:
		if c := item.Completion; c != nil {
			say("event", fmt.Sprintf("%s %s", c.Label, c.Status.Task()))
		}
	}
	return out
}

// subagentTask marks the first input of a spawned run.
const subagentTask = "[Subagent Task]\n"

// treeLimit bounds how many runs /tasks looks at.
const treeLimit = 200

// tasks is /tasks.
func (s Set) tasks(tx *store.Tx, r Request) (Reply, error) {
	all, err := tree(tx, r)
	if err != nil || len(all) == 0 {
		return Reply{Text: noTasks}, err
	}
	active := 0
	var rows []string
	for _, run := range all {
		if run.Status.Live() {
			active++
		}
		row := fmt.Sprintf("%s · %s", core.Clip(run.Name(), nameLimit), runState(run, r.Now))
		if !run.Status.Live() {
			row += " · " + deliveryText(run)
		}
		rows = append(rows, row)
	}
	return Reply{Text: list(fmt.Sprintf("Tasks: %d active, %d in all.", active, len(all)), rows, "")}, nil
}

// tree returns the runs below the conversation's session that are active,
// ended a short while ago, or were never told, newest first.
func tree(tx *store.Tx, r Request) ([]core.Run, error) {
	if r.Session.ID == 0 {
		return nil, nil
	}
	var out []core.Run
	level := []int64{r.Session.ID}
	for len(level) > 0 && len(out) < treeLimit {
		var next []int64
		for _, session := range level {
			runs, err := tx.RunsOf(session, 0)
			if err != nil {
				return nil, err
			}
			for _, run := range runs {
				if run.Status.Live() || run.EndedAt >= r.Now.Add(-recent) || run.Delivery == core.DeliveryBlocked {
					out = append(out, run)
				}
				next = append(next, run.Session)
			}
		}
		level = next
	}
	slices.SortFunc(out, func(a, b core.Run) int { return strings.Compare(b.ID, a.ID) })
	return out, nil
}
