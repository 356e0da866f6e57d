package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

func outboxCommand(e *env) *cobra.Command {
	said := func(o app.OutboxView) string { return fmt.Sprintf("message %d is %s", o.ID, o.State) }
	retry := change(e, "retry ID", "Send a message again that is ambiguous, failed, blocked or dismissed",
		func(name string) string { return item("outbox", name, "retry") }, said)
	dismiss := change(e, "dismiss ID", "Let a message go that is ambiguous, failed or blocked",
		func(name string) string { return item("outbox", name, "dismiss") }, said)
	return family("outbox", "Outbox: messages on their way out", func() *cobra.Command { return outboxList(e) }, outboxShow(e), retry, dismiss)
}

func outboxList(e *env) *cobra.Command {
	var o listOptions
	state := ""
	return query[[]app.OutboxView]{
		use: "list", short: "List messages, the newest first", args: cobra.NoArgs, asJSON: &o.json,
		flags: func(cmd *cobra.Command) {
			o.register(cmd)
			cmd.Flags().StringVar(&state, "state", "", "only those in this state: queued, sending, sent, ambiguous, failed, blocked, withdrawn or dismissed")
		},
		ask: func([]string) (string, url.Values) {
			values := o.query()
			if state != "" {
				values.Set("state", state)
			}
			return "/outbox", values
		},
		show: func(p printer, list []app.OutboxView) {
			rows := make([][]cell, len(list))
			for i, m := range list {
				rows[i] = []cell{
					plainCell("%d", m.ID), stateCell(m.State), plainCell("%s", m.Kind), plainCell("%s", m.Address), plainCell("%s", p.time(m.CreatedAt)),
					plainCell("%d", m.Attempts), plainCell("%s", firstLine(m.Preview)),
				}
				if m.Error != "" {
					rows[i] = append(rows[i][:6], cell{firstLine(m.Error), moodBad})
				}
			}
			p.table("no messages", []string{"ID", "STATE", "KIND", "ADDRESS", "WRITTEN", "TRIES", "TEXT OR ERROR"}, rows)
		},
	}.command(e)
}

func outboxShow(e *env) *cobra.Command {
	return query[app.OutboxDetail]{
		use: "show ID", short: "Show one message with its text and receipts", args: cobra.ExactArgs(1),
		ask: func(args []string) (string, url.Values) { return item("outbox", args[0]), nil },
		show: func(p printer, m app.OutboxDetail) {
			next := ""
			if m.NextAt != 0 {
				next = p.until(m.NextAt)
			}
			p.fields(
				field{"id", plainCell("%d", m.ID)}, field{"state", stateCell(m.State)}, field{"kind", plainCell("%s", m.Kind)},
				field{"address", plainCell("%s", m.Address)}, field{"answers", plainCell("%s", m.Anchor)}, field{"sent as", plainCell("%s", m.Persona)},
				field{"session", plainCell("%s", m.Session)}, field{"run", plainCell("%s", m.RunID)},
				field{"tells of", plainCell("%s", strings.Join(m.Tells, " "))},
				field{"tries", plainCell("%d", m.Attempts)}, field{"parts sent", plainCell("%d", m.PartsSent)},
				field{"platform ids", plainCell("%s", strings.Join(m.PlatformIDs, " "))}, field{"error", cell{m.Error, moodBad}},
				field{"written", p.at(m.CreatedAt)}, field{"first try", p.at(m.FirstTryAt)}, field{"next try", plainCell("%s", next)},
				field{"ended", p.at(m.EndedAt)},
			)
			p.section("text")
			fmt.Fprintln(p.w, harmless(m.Text))
		},
	}.command(e)
}
