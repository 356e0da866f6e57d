package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

func bindingsCommand(e *env) *cobra.Command {
	end := change(e, "end ID", "End a binding; its place is told",
		func(name string) string { return item("bindings", name, "end") },
		func(b app.BindingView) string { return fmt.Sprintf("ended %s at %s", b.ID, b.Address) })
	return family("bindings", "Bindings: places that lead to a sub-agent or a session",
		func() *cobra.Command { return bindingsList(e) }, bindingsShow(e), end)
}

func bindingsList(e *env) *cobra.Command {
	var o listOptions
	ended := false
	return query[[]app.BindingView]{
		use: "list", short: "List bindings, the newest first", args: cobra.NoArgs, asJSON: &o.json,
		flags: func(cmd *cobra.Command) {
			o.register(cmd)
			cmd.Flags().BoolVar(&ended, "ended", false, "those that ended instead of the live ones")
		},
		ask: func([]string) (string, url.Values) {
			values := o.query()
			if ended {
				values.Set("ended", "true")
			}
			return "/bindings", values
		},
		show: bindingTable,
	}.command(e)
}

func bindingTable(p printer, list []app.BindingView) {
	rows := make([][]cell, len(list))
	for i, b := range list {
		rows[i] = []cell{
			plainCell("%s", b.ID), plainCell("%s", b.Address), stateCell(b.Status), plainCell("%s", orDash(b.Label)), plainCell("%s", orDash(b.Owner)),
			plainCell("%s", bindingEnd(p, b)), plainCell("%s", b.Session),
		}
	}
	p.table("no bindings", []string{"ID", "ADDRESS", "STATUS", "LABEL", "OWNER", "ENDS", "SESSION"}, rows)
}

// bindingEnd says when and why a binding ends or ended.
func bindingEnd(p printer, b app.BindingView) string {
	switch {
	case b.Status == core.BindingEnded:
		return fmt.Sprintf("%s: %s", p.time(b.EndedAt), b.EndReason)
	case b.ExpiresAt != 0:
		return fmt.Sprintf("%s: %s", p.until(b.ExpiresAt), b.ExpiresBy)
	case b.Busy && b.IdleMs > 0:
		return "not while it works"
	}
	return "never"
}

func bindingsShow(e *env) *cobra.Command {
	return query[app.BindingView]{
		use: "show ID", short: "Show one binding", args: cobra.ExactArgs(1),
		ask: func(args []string) (string, url.Values) { return item("bindings", args[0]), nil },
		show: func(p printer, b app.BindingView) {
			own := ""
			if b.OwnLimits {
				own = " (set for this binding)"
			}
			p.fields(
				field{"id", plainCell("%s", b.ID)}, field{"address", plainCell("%s", b.Address)}, field{"status", stateCell(b.Status)},
				field{"suspended", plainCell("%s", b.SuspendReason)}, field{"session", plainCell("%s", b.Session)},
				field{"target", plainCell("%s", b.Target)}, field{"agent", plainCell("%s", b.Agent)}, field{"label", plainCell("%s", b.Label)},
				field{"owner", plainCell("%s", b.Owner)}, field{"placement", plainCell("%s", b.Placement)}, field{"run", plainCell("%s", b.RunID)},
				field{"idle limit", plainCell("%s%s", limitText(b.IdleMs), own)}, field{"age limit", plainCell("%s%s", limitText(b.MaxAgeMs), own)},
				field{"bound", p.at(b.BoundAt)}, field{"last activity", p.at(b.LastActivityAt)}, field{"ends", plainCell("%s", bindingEnd(p, b))},
			)
		},
	}.command(e)
}
