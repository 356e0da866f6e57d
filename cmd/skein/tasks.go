package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

func tasksCommand(e *env) *cobra.Command {
	stop := change(e, "stop ID", "Stop a task and every sub-agent below it",
		func(name string) string { return item("tasks", name, "stop") },
		func(s app.StopView) string { return fmt.Sprintf("stopped %d", s.Tasks) })
	return family("tasks", "Tasks: what sub-agents do", func() *cobra.Command { return tasksList(e) }, tasksShow(e), stop)
}

func tasksList(e *env) *cobra.Command {
	var o listOptions
	return query[[]app.TaskView]{
		use: "list", short: "List tasks, the newest first", args: cobra.NoArgs, asJSON: &o.json, flags: o.register,
		ask:  func([]string) (string, url.Values) { return "/tasks", o.query() },
		show: taskTable,
	}.command(e)
}

func taskTable(p printer, list []app.TaskView) {
	rows := make([][]cell, len(list))
	for i, t := range list {
		rows[i] = []cell{
			plainCell("%s", t.ID), plainCell("%s", t.Name), stateCell(t.Status), stateCell(t.Delivery), plainCell("%s", t.Agent),
			plainCell("%s", p.time(t.CreatedAt)), plainCell("%d/%d", t.TokensIn, t.TokensOut), costCell(t.TokensIn+t.TokensOut, t.MicroUSD, t.Unpriced),
			plainCell("%s", orDash(t.BoundTo)),
		}
	}
	p.table("no tasks", []string{"ID", "NAME", "STATUS", "DELIVERY", "AGENT", "CREATED", "TOKENS", "COST", "BOUND TO"}, rows)
}

func tasksShow(e *env) *cobra.Command {
	return query[app.TaskDetail]{
		use: "show ID", short: "Show one task with its lineage and its result", args: cobra.ExactArgs(1),
		ask: func(args []string) (string, url.Values) { return item("tasks", args[0]), nil },
		show: func(p printer, t app.TaskDetail) {
			p.fields(
				field{"task", plainCell("%s", t.ID)}, field{"run", plainCell("%s", t.RunID)}, field{"name", plainCell("%s", t.Name)},
				field{"status", stateCell(t.Status)}, field{"delivery", stateCell(t.Delivery)}, field{"detail", plainCell("%s", t.Detail)},
				field{"agent", plainCell("%s", t.Agent)}, field{"session", plainCell("%s", t.Session)}, field{"transcript", plainCell("%s", t.Transcript)},
				field{"requester", plainCell("%s", t.Requester)}, field{"requester run", plainCell("%s", t.RequesterRun)},
				field{"root run", plainCell("%s", t.RootRunID)}, field{"role", plainCell("%s", t.Role)},
				field{"depth", plainCell("%d", t.Depth)}, field{"ordinal", plainCell("%d", t.Ordinal)}, field{"outcome", plainCell("%d", t.Completion)},
				field{"origin", plainCell("%s", t.Origin)}, field{"owner", plainCell("%s", t.Owner)}, field{"bound to", plainCell("%s", t.BoundTo)},
				field{"binding", plainCell("%s", t.BindingID)},
				field{"model", plainCell("%s", t.Spec.Model)}, field{"mode", plainCell("%s", t.Spec.Mode)}, field{"context", plainCell("%s", t.Spec.Context)},
				field{"cleanup", plainCell("%s", t.Spec.Cleanup)}, field{"tokens", plainCell("%d in, %d out", t.TokensIn, t.TokensOut)},
				field{"cost", costCell(t.TokensIn+t.TokensOut, t.MicroUSD, t.Unpriced)},
				field{"created", p.at(t.CreatedAt)}, field{"started", p.at(t.StartedAt)}, field{"ended", p.at(t.EndedAt)},
				field{"delivered", p.at(t.DeliveredAt)},
			)
			p.section("work")
			fmt.Fprintln(p.w, t.Task)
			if t.Result != "" {
				p.section(choose(t.Partial, "result (partial)", "result"))
				fmt.Fprintln(p.w, t.Result)
			}
		},
	}.command(e)
}
