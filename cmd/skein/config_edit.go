package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
)

func configGet(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "get [PATH]", Short: "Print the value of a key as JSON", Args: cobra.MaximumNArgs(1),
		Long: `Print the value that is in force for a key as JSON: what the configuration says,
else what the next wider place says, else the default; null if there is none.
Without PATH it prints everything. Secrets are masked.`,
		Example: `  skein config get agents.defaults.maxSteps
  skein config get 'channels.telegram.groups["-100123"]'`,
		RunE: does(func(_ context.Context, args []string) error {
			cfg, err := e.load()
			if err != nil {
				return err
			}
			path := ""
			if len(args) == 1 {
				path = args[0]
			}
			text, err := cfg.Effective(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "%s\n", text)
			return nil
		}),
	}
}

func configSet(e *env) *cobra.Command {
	unset := false
	cmd := &cobra.Command{
		Use: "set PATH VALUE", Short: "Set a key in the configuration file, or take it out",
		Args: func(cmd *cobra.Command, args []string) error {
			if unset {
				return cobra.ExactArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		Long: `Set a key in the configuration file and print what changes by that. Comments,
layout and everything else stay as they are. VALUE is JSON5, or plain text where
the key wants text. With --unset the key is taken out: then the next wider place
holds, or the default. Nothing is written if the configuration would not be valid.
A key in an included file is changed there; the first line printed says which.
The version before is kept beside the file as .1, older ones as .2 to .5. Two of
these commands at once lose nothing. A running gateway takes the change over.`,
		Example: `  skein config set agents.defaults.maxSteps 20
  skein config set 'routes[0].agentId' helper
  skein config set agents.entries.main.skills '["*"]'
  skein config set channels.telegram.token '$TELEGRAM_BOT_TOKEN'
  skein config set --unset agents.defaults.maxSteps`,
		RunE: does(func(_ context.Context, args []string) error { return e.setKey(args, unset) }),
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "take the key out")
	return cmd
}

func (e *env) setKey(args []string, unset bool) error {
	if e.isScript() {
		return core.Errorf("not_in_script", "a conversation script does not change its configuration").
			WithRemedy("write the key into the skein.json5 of the script")
	}
	name, err := e.find()
	if err != nil {
		return err
	}
	unlock, err := config.Lock(name)
	if err != nil {
		return err
	}
	defer unlock() //nolint:errcheck // it ends with the process at the latest
	var edit *config.Edit
	if unset {
		edit, err = config.Unset(name, args[0], e.configOptions())
	} else {
		edit, err = config.Set(name, args[0], args[1], e.configOptions())
	}
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if err := edit.Write(); err != nil {
		return err
	}
	printWarnings(e.stderr, edit.Warnings)
	fmt.Fprintf(e.stdout, "%s\n%s", edit.File, edit.Plan)
	return nil
}

func configDiff(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "diff [FILE]", Short: "Print how the configuration differs from the defaults or from a file", Args: cobra.MaximumNArgs(1),
		Long: `Without FILE, print each key that differs from its default. With FILE, print what
would change if FILE took the place of the configuration. Each line says what it
takes to apply the change: live, channel, plugin or restart. Secrets are masked.`,
		RunE: does(func(_ context.Context, args []string) error {
			cfg, err := e.load()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				defaults, _, err := config.Parse("<built-in>", []byte("{}"), e.configOptions())
				if err != nil {
					return err
				}
				fmt.Fprint(e.stdout, slices.DeleteFunc(config.Diff(defaults, cfg), func(c config.Change) bool {
					was, before := defaults.Effective(c.Path)
					is, after := cfg.Effective(c.Path)
					return before == nil && after == nil && bytes.Equal(was, is)
				}))
				return nil
			}
			name, err := e.existing(args[0])
			if err != nil {
				return err
			}
			other, _, err := config.Load(name, e.configOptions())
			if err != nil {
				return err
			}
			fmt.Fprint(e.stdout, config.Diff(cfg, other))
			return nil
		}),
	}
}
