package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

func sessionsCommand(e *env) *cobra.Command {
	stop := change(e, "stop KEY", "Stop a session and every sub-agent below it",
		func(name string) string { return item("sessions", name, "stop") },
		func(s app.StopView) string {
			return fmt.Sprintf("stopped: %s, %d sub-agents, %d waiting messages", choose(s.Turn, "1 turn", "no turn"), s.Tasks, s.Queued)
		})
	archive := change(e, "archive KEY", "Archive the session of a sub-agent, or a visible one, that is not at work",
		func(name string) string { return item("sessions", name, "archive") },
		func(s app.SessionView) string { return "archived: " + s.Key })
	restore := change(e, "restore KEY", "Bring an archived session back",
		func(name string) string { return item("sessions", name, "restore") },
		func(s app.SessionView) string { return "restored: " + s.Key })
	return family("sessions", "Sessions: the histories of agents", func() *cobra.Command { return sessionsList(e) },
		sessionsShow(e), sessionsTranscript(e), stop, archive, restore, worktreesCommand(e))
}

func choose(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func sessionsList(e *env) *cobra.Command {
	var o listOptions
	archived := false
	return query[[]app.SessionView]{
		use: "list", short: "List sessions, the most recently used first", args: cobra.NoArgs, asJSON: &o.json,
		flags: func(cmd *cobra.Command) {
			o.register(cmd)
			cmd.Flags().BoolVar(&archived, "archived", false, "the archived ones instead")
		},
		ask: func([]string) (string, url.Values) {
			values := o.query()
			if archived {
				values.Set("archived", "true")
			}
			return "/sessions", values
		},
		show: func(p printer, list []app.SessionView) {
			rows := make([][]cell, len(list))
			for i, s := range list {
				rows[i] = []cell{
					plainCell("%d", s.ID), plainCell("%s", s.Key), stateCell(s.State), plainCell("%s", s.Agent), plainCell("%s", p.time(s.UsedAt)),
					plainCell("%s", s.Address), plainCell("%s", s.Group),
				}
			}
			p.table("no sessions", []string{"ID", "KEY", "STATE", "AGENT", "USED", "ADDRESS", "GROUP"}, rows)
		},
	}.command(e)
}

func sessionsShow(e *env) *cobra.Command {
	return query[app.SessionDetail]{
		use: "show KEY", short: "Show one session, by its key, a beginning of it, or its number", args: cobra.ExactArgs(1),
		ask: func(args []string) (string, url.Values) { return item("sessions", args[0]), nil },
		show: func(p printer, s app.SessionDetail) {
			p.fields(
				field{"key", plainCell("%s", s.Key)}, field{"id", plainCell("%d", s.ID)}, field{"state", stateCell(s.State)},
				field{"agent", plainCell("%s", s.Agent)}, field{"kind", plainCell("%s", s.Kind)}, field{"address", plainCell("%s", s.Address)},
				field{"title", plainCell("%s", s.Title)}, field{"group", plainCell("%s", s.Group)}, field{"parent", plainCell("%s", s.Parent)}, field{"depth", plainCell("%d", s.Depth)},
				field{"history", plainCell("%d (%d rows in all)", s.Generation, s.Rows)}, field{"queued", plainCell("%d", s.Queued)},
				field{"created", p.at(s.CreatedAt)}, field{"used", p.at(s.UsedAt)}, field{"archive due", p.at(s.ArchiveDueAt)},
				field{"archived", p.at(s.ArchivedAt)},
			)
			if len(s.Bindings) > 0 {
				p.section("bindings")
				bindingTable(p, s.Bindings)
			}
			if len(s.Tasks) > 0 {
				p.section("tasks")
				taskTable(p, s.Tasks)
			}
			if len(s.Turns) > 0 {
				p.section("turns")
				turnTable(p, s.Turns)
			}
		},
	}.command(e)
}

func turnTable(p printer, turns []app.TurnView) {
	rows := make([][]cell, len(turns))
	for i, t := range turns {
		rows[i] = []cell{
			plainCell("%d", t.ID), plainCell("%s", t.Kind), stateCell(t.State), plainCell("%s", p.time(t.StartedAt)),
			plainCell("%d/%d", t.TokensIn, t.TokensOut), costCell(t.TokensIn+t.TokensOut, t.MicroUSD, t.Unpriced), plainCell("%s", t.ReplyTo), plainCell("%s", t.Detail),
		}
	}
	p.table("", []string{"ID", "KIND", "STATE", "BEGAN", "TOKENS", "COST", "ANSWERS AT", "DETAIL"}, rows)
}

// sessionsTranscript prints JSON Lines: a transcript is for programs, and for
// people with a pager.
func sessionsTranscript(e *env) *cobra.Command {
	raw := false
	cmd := &cobra.Command{
		Use: "transcript REF", Short: "Print the whole history of a session as JSON Lines", Args: cobra.ExactArgs(1),
		Long: `Print the whole history of a session as JSON Lines, one row each: what was said
before /new and /reset too, and also of an archived session. REF is what a sub-agent's statistics name (session:12), or a key
as for "sessions show". With --raw the rows are as they are stored, with the
model's reasoning.`,
		RunE: does(func(ctx context.Context, args []string) error {
			cfg, err := e.load()
			if err != nil {
				return err
			}
			c, err := e.connect(cfg, false)
			if err != nil {
				return err
			}
			defer c.close()         //nolint:errcheck // it was only read from
			var s app.SessionDetail // a beginning of a key may be another session's too by the next page
			if err := c.get(ctx, item("sessions", args[0]), nil, &s); err != nil {
				return err
			}
			values := url.Values{}
			if raw {
				values.Set("raw", "true")
			}
			enc := json.NewEncoder(e.stdout)
			enc.SetEscapeHTML(false)
			return eachRow(ctx, c, item("sessions", strconv.FormatInt(s.ID, 10), "transcript"), values, func(row app.RowView) error { return enc.Encode(row) })
		}),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "the rows as they are stored")
	return cmd
}

// firstLine is for cells: only the first line of a text.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
