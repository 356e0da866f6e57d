package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

func doctorCommand(e *env) *cobra.Command {
	asJSON, fix := false, false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what is wrong, each with a remedy", Args: cobra.NoArgs,
		Long: `Look at the configuration, the store and the running gateway, and say what is
wrong, each with what to do about it: accounts that do not run, messages that
somebody must decide about, outcomes that nobody was told, a disk that is nearly
full, secrets that stand in the configuration file, and the alerts of the last
seven days. Without a gateway it looks at the store, and says that none runs.

It says what it would mend and changes nothing. With --fix it mends that first:
it takes agents that are not configured out of allowAgents in the configuration
file, and mends the ledger of tasks as "skein tasks maintenance --apply" does.

It exits 1 where something is wrong. Notices alone are not wrong.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if fix {
				if err := e.fix(ctx, asJSON); err != nil {
					return err
				}
			}
			d := e.examine(ctx)
			if asJSON {
				if err := e.printer().json(d); err != nil {
					return err
				}
			} else {
				showDoctor(e.printer(), d)
				e.showFixes(ctx)
			}
			if !d.OK {
				return errReported
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what can be mended first, and say what was done")
	return cmd
}

// examine asks the gateway, or the store where none runs, and looks at the
// configuration itself. What keeps it from looking is a finding too.
func (e *env) examine(ctx context.Context) app.DoctorView {
	failed := app.DoctorView{OK: true, Findings: []app.FindingView{}, Alerts: []app.AlertView{}}
	cfg, warnings, err := e.loadWithWarnings()
	if err != nil {
		failed.Add(problem("config_invalid", err))
		return failed
	}
	d, err := e.askDoctor(ctx, cfg)
	if err != nil {
		d = failed
		d.Add(problem("internal", err))
	}
	for _, at := range cfg.LiteralSecrets() {
		d.Add(app.FindingView{
			Level: app.LevelNotice, Code: "secret_literal", Subject: at, Text: "a secret stands in the configuration file",
			Remedy: `put it into the environment and write "$NAME", or use {source: "file", id: "PATH"}`,
		})
	}
	unknown := cfg.UnknownAllowances()
	for _, a := range unknown {
		d.Add(app.FindingView{
			Level: app.LevelNotice, Code: "agent_unconfigured", Subject: a.Path,
			Text:   "agents that are not configured: " + strings.Join(a.Unknown, ", "),
			Remedy: "configure them, or take them out: `skein doctor --fix` does",
		})
	}
	for _, w := range warnings {
		if slices.ContainsFunc(unknown, func(a config.Allowance) bool { return strings.HasPrefix(w.Path, a.Path+"[") }) {
			continue // said already
		}
		d.Add(app.FindingView{
			Level: app.LevelNotice, Code: "config_warning", Subject: w.Path, Text: fmt.Sprintf("%s (%s)", w.Message, w.Pos),
			Remedy: strings.TrimPrefix(w.Suggestion+"; `skein config check` lists all warnings", "; "),
		})
	}
	return d
}

func (e *env) askDoctor(ctx context.Context, cfg *config.Config) (d app.DoctorView, err error) {
	c, err := e.connect(cfg, false)
	if err != nil {
		return d, err
	}
	defer c.close() //nolint:errcheck // it was only read from
	err = c.get(ctx, "/doctor", nil, &d)
	return d, err
}

// loadWithWarnings is load, with the warnings that it drops.
func (e *env) loadWithWarnings() (*config.Config, config.Warnings, error) {
	if e.config != nil {
		return e.config, nil, nil
	}
	name, err := e.find()
	if err != nil {
		return nil, nil, err
	}
	return config.Load(name, e.configOptions())
}

// problem makes a finding of an error; code is for one that has none.
func problem(code string, err error) app.FindingView {
	f := app.FindingView{Level: app.LevelProblem, Code: code, Text: err.Error()}
	var coded *core.Error
	if errors.As(err, &coded) {
		f.Code, f.Text, f.Remedy = coded.Code, coded.Text, coded.Remedy
	}
	if f.Code == "config_invalid" && f.Remedy == "" {
		f.Remedy = "correct the file; a gateway that runs goes on with the configuration before"
	}
	return f
}

func showDoctor(p printer, d app.DoctorView) {
	problems := 0
	for _, f := range d.Findings {
		mood := moodBusy
		if f.Level == app.LevelProblem {
			mood = moodBad
			problems++
		}
		line := f.Text
		if f.Subject != "" {
			line = f.Subject + ": " + line
		}
		fmt.Fprintf(p.w, "%s  %s\n", p.paint(mood, string(f.Level)), line)
		if f.Since != 0 {
			fmt.Fprintf(p.w, "         %s since %s\n", p.paint(moodDim, f.Code), p.time(f.Since))
		} else {
			fmt.Fprintf(p.w, "         %s\n", p.paint(moodDim, f.Code))
		}
		if f.Remedy != "" {
			fmt.Fprintf(p.w, "         %s\n", f.Remedy)
		}
	}
	if len(d.Alerts) > 0 {
		p.section("alerts of the last seven days")
		rows := make([][]cell, len(d.Alerts))
		for i, a := range d.Alerts {
			rows[i] = []cell{
				plainCell("%s", p.time(a.LastAt)), plainCell("%s", a.Kind), plainCell("%s", a.Subject), plainCell("%d", a.Times),
				plainCell("%s", p.time(a.ToldAt)), plainCell("%s", firstLine(a.Text)),
			}
		}
		p.table("", []string{"LAST", "KIND", "ABOUT", "TIMES", "TOLD", "TEXT"}, rows)
		fmt.Fprintln(p.w)
	}
	if d.Schema != 0 { // the store was looked at
		fmt.Fprintln(p.w, taskLine(p, d.Tasks))
	}
	switch notices := len(d.Findings) - problems; {
	case problems > 0:
		fmt.Fprintf(p.w, "%s\n", p.paint(moodBad, fmt.Sprintf("%d wrong, %d to look at", problems, notices)))
	case notices > 0:
		fmt.Fprintf(p.w, "nothing is wrong, %d to look at\n", notices)
	default:
		fmt.Fprintln(p.w, p.paint(moodGood, "all is well"))
	}
}
