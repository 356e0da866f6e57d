package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

func tasksCommand(e *env) *cobra.Command {
	cancel := change(e, "cancel ID", "Stop a task and every sub-agent below it",
		func(name string) string { return item("tasks", name, "cancel") },
		func(s app.StopView) string { return fmt.Sprintf("stopped %d", s.Tasks) })
	return family("tasks", "Tasks: what sub-agents do", func() *cobra.Command { return tasksList(e) }, tasksShow(e), cancel, tasksNotify(e),
		tasksAudit(e), tasksMaintenance(e),
		tasksSettle(e, "retry", "Tell outcomes anew that nobody was told",
			`Tell outcomes anew that nobody was told, one to ten tasks. What was to tell an
outcome goes into the outbox again from its first unsent part on; where nothing
is left of it, the runtime's own notice does.`),
		tasksSettle(e, "dismiss", "Let outcomes go that nobody was told",
			`Let outcomes go that nobody was told, one to ten tasks, with the messages that
were to tell them. The tasks stay in the list with their results.`))
}

func tasksList(e *env) *cobra.Command {
	var o listOptions
	var status, agent, runtime string
	return query[[]app.TaskView]{
		use: "list", short: "List tasks, the newest first", args: cobra.NoArgs, asJSON: &o.json,
		flags: func(cmd *cobra.Command) {
			o.register(cmd)
			cmd.Flags().StringVar(&status, "status", "", "only those in this state: "+commas(core.TaskStatuses()))
			cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent")
			cmd.Flags().StringVar(&runtime, "runtime", "", "only this kind of work: "+commas(core.RunKinds()))
		},
		ask: func([]string) (string, url.Values) {
			values := o.query()
			for name, value := range map[string]string{"status": status, "agent": agent, "runtime": runtime} {
				if value != "" {
					values.Set(name, value)
				}
			}
			return "/tasks", values
		},
		show: taskTable,
	}.command(e)
}

// commas lists words.
func commas[T ~string](words []T) string {
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = string(w)
	}
	return strings.Join(text, ", ")
}

// maxName is how much of a name a table shows, in characters.
const maxName = 60

func taskTable(p printer, list []app.TaskView) {
	rows := make([][]cell, len(list))
	for i, t := range list {
		rows[i] = []cell{
			plainCell("%s", t.ID), plainCell("%s", core.Clip(t.Name, maxName)), plainCell("%s", t.Runtime), taskState(t), stateCell(t.Delivery), plainCell("%s", t.Agent),
			plainCell("%s", p.time(t.CreatedAt)), plainCell("%d/%d", t.TokensIn, t.TokensOut), costCell(t.TokensIn+t.TokensOut, t.MicroUSD, t.Unpriced),
			plainCell("%s", orDash(t.BoundTo)),
		}
	}
	p.table("no tasks", []string{"ID", "NAME", "KIND", "STATUS", "DELIVERY", "AGENT", "CREATED", "TOKENS", "COST", "BOUND TO"}, rows)
	if i := slices.IndexFunc(list, func(t app.TaskView) bool { return t.Delivery == core.DeliveryBlocked }); i >= 0 {
		fmt.Fprintf(p.w, "\nblocked: nobody was told; `skein tasks retry %s` tells it again, `skein tasks dismiss %s` lets it go\n", list[i].ID, list[i].ID)
	}
}

func taskState(t app.TaskView) cell {
	if t.Lost {
		return cell{string(t.Status) + " (lost)", moodBad}
	}
	return stateCell(t.Status)
}

func tasksShow(e *env) *cobra.Command {
	trace, asJSON := false, false
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one task with its lineage and its result", Args: cobra.ExactArgs(1),
		Long: `Show one task with its lineage and its result. ID is the id of a task or of its
run, a beginning of one of them, or the key of a sub-agent's session: then it is
the newest task of that.

With --trace it prints the tree of the task instead: who asked for it, each turn,
model call and tool call, the events that were handed over, the messages and
their receipts, in order, and the same of the tasks below it.`,
		RunE: does(func(ctx context.Context, args []string) error {
			p := e.printer()
			if trace {
				return showAnswer(ctx, e, item("tasks", args[0], "trace"), asJSON, func(t app.TraceView) { showTrace(p, t) })
			}
			return showAnswer(ctx, e, item("tasks", args[0]), asJSON, func(t app.TaskDetail) { showTask(p, t) })
		}),
	}
	cmd.Flags().BoolVar(&trace, "trace", false, "print the tree of the task")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}

// showAnswer asks and prints.
func showAnswer[T any](ctx context.Context, e *env, path string, asJSON bool, show func(T)) error {
	var answer T
	if err := e.ask(ctx, path, nil, &answer); err != nil {
		return err
	}
	if asJSON {
		return e.printer().json(answer)
	}
	show(answer)
	return nil
}

func showTask(p printer, t app.TaskDetail) {
	p.fields(
		field{"task", plainCell("%s", t.ID)}, field{"run", plainCell("%s", t.RunID)}, field{"name", plainCell("%s", t.Name)},
		field{"label", plainCell("%s", t.Label)}, field{"task name", plainCell("%s", t.TaskName)},
		field{"kind", plainCell("%s", t.Runtime)}, field{"status", taskState(t.TaskView)}, field{"delivery", stateCell(t.Delivery)},
		field{"notify", plainCell("%s", t.Notify)}, field{"detail", plainCell("%s", t.Detail)},
		field{"agent", plainCell("%s", t.Agent)}, field{"session", plainCell("%s", t.Session)}, field{"transcript", plainCell("%s", t.Transcript)},
		field{"requester", plainCell("%s", t.Requester)}, field{"requester run", plainCell("%s", t.RequesterRun)},
		field{"controller", plainCell("%s", t.Controller)}, field{"generation", numberCell(t.Generation)},
		field{"root run", plainCell("%s", t.RootRunID)}, field{"role", plainCell("%s", t.Role)},
		field{"depth", plainCell("%d", t.Depth)}, field{"ordinal", plainCell("%d", t.Ordinal)}, field{"outcome", plainCell("%d", t.Completion)},
		field{"origin", plainCell("%s", t.Origin)}, field{"owner", plainCell("%s", t.Owner)}, field{"bound to", plainCell("%s", t.BoundTo)},
		field{"binding", plainCell("%s", t.BindingID)},
		field{"model", plainCell("%s", t.Spec.Model)}, field{"thinking", plainCell("%s", orDash(t.Spec.Thinking))}, field{"mode", plainCell("%s", t.Spec.Mode)},
		field{"context", contextCell(t.Spec)}, field{"cleanup", plainCell("%s", t.Spec.Cleanup)}, field{"folder", plainCell("%s", orDash(t.Spec.Cwd))},
		field{"sandbox", plainCell("%s", orDash(t.Spec.Sandbox))}, field{"tools", toolsCell(t.Spec)}, field{"timeout", timeoutCell(t.Spec)}, field{"budget", budgetCell(t.Spec.Budget)},
		field{"files", filesCell(t.Spec.Files)},
		field{"tokens", plainCell("%d in, %d out", t.TokensIn, t.TokensOut)},
		field{"cost", costCell(t.TokensIn+t.TokensOut, t.MicroUSD, t.Unpriced)},
		field{"created", p.at(t.CreatedAt)}, field{"started", p.at(t.StartedAt)}, field{"ended", p.at(t.EndedAt)},
		field{"delivered", p.at(t.DeliveredAt)},
	)
	if len(t.Budgets) > 0 {
		p.section("budgets")
		budgetTable(p, t.Budgets)
	}
	p.section("work")
	fmt.Fprintln(p.w, harmless(t.Task))
	if t.Result != "" {
		p.section(choose(t.Partial, "result (partial)", "result"))
		fmt.Fprintln(p.w, harmless(t.Result))
	}
}

// numberCell is a number that is known where it is not 0.
func numberCell(n int64) cell {
	if n == 0 {
		return cell{}
	}
	return plainCell("%d", n)
}

func contextCell(s core.SpawnSpec) cell {
	return plainCell("%s", s.Context+choose(s.LightContext, ", without context files", ""))
}

// filesCell is what the spawn handed over, empty for nothing.
func filesCell(f *core.SpawnFiles) cell {
	if f == nil {
		return cell{}
	}
	return plainCell("%d in %s: %s", f.Count, f.Dir, strings.Join(f.Names, ", "))
}

// toolsCell is the most that a sub-agent may have by the rules of whoever asked
// for it.
func toolsCell(s core.SpawnSpec) cell {
	switch {
	case s.ToolCeiling == nil:
		return plainCell("those of its agent")
	case len(s.ToolCeiling) == 0:
		return plainCell("none")
	}
	return plainCell("at most %s", strings.Join(s.ToolCeiling, ", "))
}

func timeoutCell(s core.SpawnSpec) cell {
	if s.TimeoutSeconds == 0 {
		return plainCell("none")
	}
	return plainCell("%ds", s.TimeoutSeconds)
}

func budgetCell(b *core.Budget) cell {
	if b == nil {
		return plainCell("none of its own")
	}
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.USD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", b.USD))
	}
	return plainCell("%s", strings.Join(parts, ", "))
}

func tasksNotify(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "notify ID POLICY", Short: "Choose what people are told of a task", Args: cobra.ExactArgs(2),
		Long: `Choose what people are told of a task that goes on, in the runtime's own words:

done_only      the outcome, once (as it is where nothing was chosen)
state_changes  besides, in the chat of whoever asked: that it starts, waits and goes on
silent         nothing: the outcome starts no notice and no turn of the agent that
               asked. An agent that waits for the task gets the outcome, the
               task's own answer in a thread of its own is still posted, and the
               outcome is in the list of tasks.`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return e.completeTasks(""), cobra.ShellCompDirectiveNoFileComp
			}
			return strings.Split(commas(core.NotifyPolicies()), ", "), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: does(func(ctx context.Context, args []string) error {
			list, err := e.changeTasks(ctx, args[:1], "notify", app.NotifyRequest{Policy: core.Notify(args[1])})
			if err != nil {
				return err
			}
			if asJSON {
				return e.printer().json(list[0])
			}
			fmt.Fprintf(e.stdout, "task %s: %s\n", list[0].ID, list[0].Notify)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}

// settleMost is how many outcomes one command settles.
const settleMost = 10

// tasksSettle makes a command that settles outcomes that nobody was told.
func tasksSettle(e *env, verb, short, long string) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: verb + " ID...", Short: short, Long: long, Args: cobra.RangeArgs(1, settleMost),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return completeList(e, "/tasks", func(t app.TaskView) string {
				if t.Delivery == core.DeliveryBlocked {
					return t.ID
				}
				return ""
			}), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: does(func(ctx context.Context, args []string) error {
			list, err := e.changeTasks(ctx, args, verb, nil)
			if asJSON && len(list) > 0 {
				return errors.Join(e.printer().json(list), err)
			}
			for _, t := range list {
				fmt.Fprintf(e.stdout, "the outcome of task %s is %s\n", t.ID, t.Delivery)
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}

// changeTasks changes tasks, each for itself: what fails for one is reported,
// and the others are changed all the same.
func (e *env) changeTasks(ctx context.Context, ids []string, verb string, body any) (done []app.TaskView, err error) {
	cfg, err := e.load()
	if err != nil {
		return nil, err
	}
	c, err := e.connect(cfg, true)
	if err != nil {
		return nil, err
	}
	defer c.close() //nolint:errcheck // the answers are there
	for _, id := range ids {
		var t app.TaskView
		switch err := c.post(ctx, item("tasks", id, verb), body, &t); {
		case err == nil:
			done = append(done, t)
		case len(ids) == 1:
			return done, err
		default:
			fmt.Fprintln(e.stderr, "skein:", oneLine(err))
		}
	}
	if len(done) < len(ids) {
		err = errReported
	}
	return done, err
}
