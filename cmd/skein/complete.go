package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
)

// completions tells shells what may stand after a command: keys of the
// configuration, and what a gateway or its store has. A shell waits for them, so
// what cannot be had at once is left out.
func (e *env) completions(root *cobra.Command) {
	for path, complete := range map[string]func(part string) []string{
		"config get": e.completeKeys, "config set": e.completeKeys,
		"sessions show": e.completeSessions, "sessions transcript": e.completeSessions, "sessions stop": e.completeSessions,
		"tasks show": e.completeTasks, "tasks cancel": e.completeTasks,
		"bindings show": e.completeBindings, "bindings end": e.completeBindings,
	} {
		cmd := find(root, path)
		if cmd == nil {
			continue
		}
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(part), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
	}
	names := map[string]func(*config.Config) []string{
		"channel": func(c *config.Config) []string { return c.Channels.Names() },
		"agent":   func(c *config.Config) []string { return c.AgentIDs() },
	}
	each(root, func(cmd *cobra.Command) {
		for flag, list := range names {
			if cmd.Flags().Lookup(flag) == nil {
				continue
			}
			_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				cfg, err := e.load()
				if err != nil {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return list(cfg), cobra.ShellCompDirectiveNoFileComp
			}) // it fails only where the flag does not exist
		}
	})
}

// each visits every command.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, visit)
	}
}

// find returns the command of a path such as "config get", nil if there is none.
func find(root *cobra.Command, path string) (found *cobra.Command) {
	each(root, func(cmd *cobra.Command) {
		if cmd.CommandPath() == root.Name()+" "+path {
			found = cmd
		}
	})
	return found
}

func (e *env) completeKeys(part string) []string {
	cfg, err := e.load()
	if err != nil {
		cfg = nil
	}
	return config.Complete(part, cfg)
}

// completeList asks the gateway, or its store, for a list. What has no name is
// left out.
func completeList[T any](e *env, path string, name func(T) string) (out []string) {
	cfg, err := e.load()
	if err != nil {
		return nil
	}
	c, err := e.connect(cfg, false)
	if err != nil {
		return nil
	}
	defer func() { _ = c.close() }()
	var list []T
	if c.get(context.Background(), path, url.Values{"limit": {"100"}}, &list) != nil {
		return nil
	}
	for _, x := range list {
		if n := name(x); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func (e *env) completeSessions(string) []string {
	return completeList(e, "/sessions", func(s app.SessionView) string { return s.Key })
}

func (e *env) completeTasks(string) []string {
	return completeList(e, "/tasks", func(t app.TaskView) string { return t.ID })
}

func (e *env) completeBindings(string) []string {
	return completeList(e, "/bindings", func(b app.BindingView) string { return b.ID })
}
