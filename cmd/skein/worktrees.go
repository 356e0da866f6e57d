package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core/app"
)

func worktreesCommand(e *env) *cobra.Command {
	restore := change(e, "restore ID", "Bring a worktree back that is kept as a snapshot",
		func(name string) string { return item("worktrees", name, "restore") },
		func(w app.WorktreeView) string { return fmt.Sprintf("restored %s at %s", w.Branch, w.Path) })
	remove := change(e, "remove ID", "Remove a worktree; what is not pushed is kept as a snapshot, and a snapshot is let go",
		func(name string) string { return item("worktrees", name, "remove") },
		func(w app.WorktreeView) string {
			if w.RestorableUntil != 0 {
				return fmt.Sprintf("removed %s; it is kept as a snapshot: %s", w.Path, w.Detail)
			}
			return "removed " + w.Branch
		})
	return family("worktrees", "Git worktrees of visible sessions", func() *cobra.Command { return worktreesList(e) }, restore, remove)
}

func worktreesList(e *env) *cobra.Command {
	var o listOptions
	return query[[]app.WorktreeView]{
		use: "list", short: "List worktrees, the newest first", args: cobra.NoArgs, asJSON: &o.json, flags: o.register,
		ask: func([]string) (string, url.Values) { return "/worktrees", o.query() },
		show: func(p printer, list []app.WorktreeView) {
			rows := make([][]cell, len(list))
			for i, w := range list {
				rows[i] = []cell{
					plainCell("%s", w.ID), plainCell("%s", w.Name), stateCell(string(w.State)), plainCell("%s", p.time(w.CreatedAt)), p.at(w.RestorableUntil),
					plainCell("%s", w.Path), plainCell("%s", w.Detail),
				}
			}
			p.table("no worktrees", []string{"ID", "NAME", "STATE", "MADE", "RESTORABLE UNTIL", "FOLDER", "DETAIL"}, rows)
		},
	}.command(e)
}
