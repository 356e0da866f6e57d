package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
)

func configCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Configuration: check it, look into it, change it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configCheck(e), configGet(e), configSet(e), configDiff(e), configSchema(e), configPath(e))
	return cmd
}

func configCheck(e *env) *cobra.Command {
	asJSON, secrets := false, false
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration file", Args: cobra.MaximumNArgs(1),
		Long: `Check a configuration file and print everything that is wrong with it, each with
its place, and what is doubtful. Exits 1 if something is wrong. Secrets are
looked up only with --secrets.`,
		RunE: does(func(_ context.Context, args []string) error {
			name, err := e.checked(args)
			if err != nil {
				return err
			}
			cfg, warnings, err := config.Load(name, e.configOptions())
			if err == nil && secrets {
				err = cfg.ResolveSecrets(e.configOptions())
			}
			if asJSON {
				return e.checkJSON(name, warnings, err)
			}
			printWarnings(e.stderr, warnings)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "%s is valid\n", name)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	cmd.Flags().BoolVar(&secrets, "secrets", false, "also look up every secret that is in use")
	return cmd
}

// checked returns the file to check.
func (e *env) checked(args []string) (string, error) {
	if len(args) == 1 {
		return e.existing(args[0])
	}
	return e.find()
}

// checkView is what `skein config check --json` prints.
type checkView struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Problems []problemView `json:"problems"`
	Warnings []problemView `json:"warnings"`
}

// problemView is one thing that is wrong or doubtful.
type problemView struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Path       string `json:"path"`
	Expected   string `json:"expected,omitempty"`
	Found      string `json:"found,omitempty"`
	Message    string `json:"message,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

func problemViews(list []config.Problem) []problemView {
	out := make([]problemView, len(list))
	for i, p := range list {
		out[i] = problemView{p.Pos.File, p.Pos.Line, p.Pos.Column, p.Path, p.Expected, p.Found, p.Message, p.Suggestion}
	}
	return out
}

func (e *env) checkJSON(name string, warnings config.Warnings, err error) error {
	var invalid config.InvalidError
	switch {
	case err == nil:
	case errors.As(err, &invalid):
	default:
		return err
	}
	view := checkView{File: name, Valid: err == nil, Problems: problemViews(invalid), Warnings: problemViews(warnings)}
	if printed := e.printer().json(view); printed != nil {
		return printed
	}
	if err != nil {
		return errReported
	}
	return nil
}

func configSchema(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of configuration files", Args: cobra.NoArgs,
		RunE: does(func(context.Context, []string) error {
			_, err := e.stdout.Write(config.Schema())
			return err
		}),
	}
}

func configPath(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print which configuration file is used", Args: cobra.NoArgs,
		RunE: does(func(context.Context, []string) error {
			name, err := e.find()
			if err != nil {
				return err
			}
			fmt.Fprintln(e.stdout, name)
			return nil
		}),
	}
}
