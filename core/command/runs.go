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
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/words"
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
func (s Set) runs(tx *store.Tx, r Request) ([]target.Target, error) {
	return finder(tx, r).Children()
}

// agents is /agents.
func (s Set) agents(tx *store.Tx, r Request) (Reply, error) {
	targets, err := s.runs(tx, r)
	if err != nil {
		return Reply{}, err
	}
	w := r.Language
	head := w.AgentsNone()
	if len(targets) > 0 {
		head = w.AgentsHead()
	}
	if r.Bound {
		expiry, err := s.o.Bindings.Expiry(tx, r.Binding)
		if err != nil {
			return Reply{}, err
		}
		head = w.AgentsFocused(expiry, focusName(r.Binding)) + "\n" + head
	}
	var rows []string
	for _, t := range targets {
		bound, err := s.boundText(tx, r, t)
		if err != nil {
			return Reply{}, err
		}
		rows = append(rows, fmt.Sprintf("%d. %s · %s · %s", t.Run.Ordinal, core.Clip(t.Label, nameLimit), runState(r.Language, t.Run, r.Now), bound))
	}
	return Reply{Text: list(w, head, rows, s.agentNames(w))}, nil
}

func focusName(b core.Binding) string {
	if b.Label != "" {
		return core.Clip(b.Label, nameLimit)
	}
	return b.Agent
}

// agentNames lists the agents that /focus finds, where there are several.
func (s Set) agentNames(w words.Language) string {
	ids := s.o.Config.AgentIDs()
	if len(ids) < 2 {
		return ""
	}
	var names []string
	for _, id := range ids {
		names = append(names, s.agentText(id))
	}
	return cut(w.AgentsConfigured(names), 400)
}

// boundText says where a sub-agent is bound and until when.
func (s Set) boundText(tx *store.Tx, r Request, t target.Target) (string, error) {
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
			text += " · " + r.Language.AgentsSuspended()
		}
		parts = append(parts, text)
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", "), nil
	case !s.o.Bindings.Bindable(r.Message.Address):
		return r.Language.AgentsUnavailable(), nil
	}
	return r.Language.AgentsUnbound(), nil
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
	case verb == "kill" && rest != "":
		return s.kill(tx, r, unquoted(rest))
	case verb == "spawn":
		return s.spawn(tx, r, rest)
	}
	if token, text := cutTarget(rest); text != "" {
		switch verb {
		case "steer":
			return s.steer(tx, r, token, text)
		case "send":
			return s.send(tx, r, token, text)
		}
	}
	return Reply{}, words.RefuseUsageSubagents(CodeUsage)
}

func (s Set) listRuns(tx *store.Tx, r Request) (Reply, error) {
	targets, err := s.runs(tx, r)
	if err != nil {
		return Reply{}, err
	}
	if len(targets) == 0 {
		return Reply{Text: r.Language.AgentsNone()}, nil
	}
	var rows []string
	for _, t := range targets {
		row := fmt.Sprintf("%d. %s · %s", t.Run.Ordinal, core.Clip(t.Label, nameLimit), runState(r.Language, t.Run, r.Now))
		if t.Run.TaskName != "" && t.Run.TaskName != t.Label {
			row += " · " + t.Run.TaskName
		}
		if tokens := t.Run.Tokens(); tokens > 0 {
			row += " · " + r.Language.AgentsTokens(int(tokens))
		}
		rows = append(rows, row)
	}
	return Reply{Text: list(r.Language, r.Language.AgentsHead(), rows, "")}, nil
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
	run, w := t.Run, r.Language
	lines := []string{fmt.Sprintf("%d. %s · %s", run.Ordinal, core.Clip(t.Label, nameLimit), runState(r.Language, run, r.Now))}
	lines = line(lines, w.LabelTask, core.Clip(run.Task, 200))
	lines = line(lines, w.LabelTaskName, run.TaskName)
	lines = line(lines, w.LabelOutcome, outcomeText(w, run))
	lines = line(lines, w.LabelAgent, w.InfoAgent(s.agentText(run.Agent), run.Depth, run.Role))
	lines = line(lines, w.LabelModel, run.Spec.Model)
	lines = append(lines, w.InfoMode(run.Spec.Context, run.Spec.Mode))
	lines = line(lines, w.LabelCreated, moment(w, run.CreatedAt))
	lines = line(lines, w.LabelStarted, moment(w, run.StartedAt))
	lines = line(lines, w.LabelEnded, moment(w, run.EndedAt))
	lines = append(lines, w.InfoTokens(int(run.TokensIn), int(run.TokensOut)))
	lines = line(lines, w.LabelBinding, bound)
	lines = line(lines, w.LabelSession, t.Session.Key)
	lines = line(lines, w.LabelSessionID, strconv.FormatInt(t.Session.ID, 10))
	lines = line(lines, w.LabelTranscript, subagent.TranscriptRef(run))
	lines = line(lines, w.LabelRun, run.ID)
	lines = line(lines, w.LabelTaskID, run.TaskID)
	lines = line(lines, w.LabelCleanup, run.Spec.Cleanup)
	archive, err := archiveText(w, tx, t.Session)
	if err != nil {
		return Reply{}, err
	}
	lines = line(lines, w.LabelArchive, archive)
	lines = line(lines, w.LabelDelivery, deliveryText(w, run))
	if run.Delivery == core.DeliveryBlocked {
		lines = append(lines, w.TasksUntold(run.TaskID))
	}
	return Reply{Text: strings.Join(lines, "\n")}, nil
}

// outcomeText is how a run ended, "" while it lives and has no more to say.
func outcomeText(w words.Language, run core.Run) string {
	detail := core.Clip(w.Recall(run.Detail), 200)
	switch {
	case run.Status.Live():
		return detail
	case detail == "":
		return taskWord(w, run.Status.Task())
	}
	return taskWord(w, run.Status.Task()) + ": " + detail
}

// archiveText says since when a session is archived, or when it will be: not
// while it is bound, whatever was planned before.
func archiveText(w words.Language, tx *store.Tx, s store.Session) (string, error) {
	switch {
	case s.ArchivedAt != 0:
		return w.InfoArchived(moment(w, s.ArchivedAt)), nil
	case s.ArchiveDue == 0:
		return "-", nil
	}
	if bindings, err := tx.BindingsOfSession(s.ID); err != nil || len(bindings) > 0 {
		return w.InfoArchiveBound(), err
	}
	return w.InfoArchiveDue(moment(w, s.ArchiveDue)), nil
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
	fields := strings.Fields(args)
	turns, tools := logTurns, false
	if n := len(fields) - 1; n > 0 && fields[n] == "tools" {
		fields, tools = fields[:n], true
	}
	t, err := s.resolve(tx, r, strings.Join(fields, " "), false)
	if n := len(fields) - 1; n > 0 && core.ErrorCode(err) == target.CodeUnknown {
		if limit, bad := strconv.Atoi(fields[n]); bad == nil {
			turns = min(max(limit, 1), logMost)
			t, err = s.resolve(tx, r, strings.Join(fields[:n], " "), false)
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
	lines, err := logLines(r.Language, rows, turns, tools)
	if err != nil {
		return Reply{}, err
	}
	name := core.Clip(t.Label, nameLimit)
	if len(lines) == 0 {
		return Reply{Text: r.Language.LogNothing(name)}, nil
	}
	return Reply{Text: latest(r.Language, r.Language.LogHead(name, t.Run.Ordinal), lines)}, nil
}

// logLines words the rows of the last turns.
func logLines(w words.Language, rows []store.Row, turns int, tools bool) ([]string, error) {
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
		out = append(out, logItem(w, item, tools)...)
	}
	return out, nil
}

// logItem words one transcript item; reasoning never shows, and calls only
// with tools.
func logItem(w words.Language, item model.Item, tools bool) []string {
	var out []string
	say := func(who, text string) {
		if text = core.Clip(delivery.Gate(text), logRowLimit); text != "" {
			out = append(out, who+": "+text)
		}
	}
	switch item.Kind {
	case model.User:
		who := w.LogPerson()
		if item.Author != nil && item.Author.Name != "" {
			who = core.Clip(item.Author.Name, nameLimit)
		}
		if task, ok := strings.CutPrefix(item.Text, subagent.TaskMark); ok {
			who, item.Text = w.LogTask(), task
		}
		say(who, item.Text)
	case model.Assistant:
		say(w.LogAgent(), item.Text)
		for _, c := range item.Calls {
			if tools {
				out = append(out, core.Clip(fmt.Sprintf("%s: %s %s", w.LogCall(), c.Name, c.Args), logRowLimit))
			}
		}
	case model.ToolOutput:
		if tools {
			say(item.Tool, item.Text)
		}
	case model.Event:
		if c := item.Completion; c != nil {
			say(w.LogEvent(), c.Label+" "+taskWord(w, c.Status.Task()))
		}
	}
	return out
}

// treeLimit bounds how many runs /tasks looks at.
const treeLimit = 200

// tasks is /tasks.
func (s Set) tasks(tx *store.Tx, r Request) (Reply, error) {
	all, err := tree(tx, r)
	if err != nil || len(all) == 0 {
		return Reply{Text: r.Language.TasksNone()}, err
	}
	active, untold := 0, ""
	var rows []string
	for _, run := range all {
		if run.Status.Live() {
			active++
		}
		row := fmt.Sprintf("%s · %s", core.Clip(run.Name(), nameLimit), runState(r.Language, run, r.Now))
		if !run.Status.Live() {
			row += " · " + deliveryText(r.Language, run)
		}
		if run.Delivery == core.DeliveryBlocked {
			row += " · " + run.TaskID
			if untold == "" {
				untold = r.Language.TasksUntold(run.TaskID)
			}
		}
		rows = append(rows, row)
	}
	return Reply{Text: list(r.Language, r.Language.TasksHead(active, len(all)), rows, untold)}, nil
}

// tasksOf returns the runs of one session's that tree wants.
func tasksOf(tx *store.Tx, session int64, recent core.Millis) ([]core.Run, error) {
	runs, err := tx.RunsOf(session, recent)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r core.Run) bool {
		return !r.Status.Live() && r.EndedAt < recent || r.Delivery == core.DeliveryBlocked
	})
	untold, err := tx.BlockedRunsOf(session, treeLimit)
	return append(runs, untold...), err
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
			runs, err := tasksOf(tx, session, target.Recent(r.Now))
			if err != nil {
				return nil, err
			}
			out = append(out, runs...)
			below, err := tx.AskingBelow(session)
			if err != nil {
				return nil, err
			}
			next = append(next, below...)
		}
		level = next
	}
	slices.SortFunc(out, func(a, b core.Run) int { return strings.Compare(b.ID, a.ID) })
	return out, nil
}
