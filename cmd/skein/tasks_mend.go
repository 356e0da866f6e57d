package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/world"
)

func tasksAudit(e *env) *cobra.Command {
	asJSON, limit := false, 0
	var severity, code string
	cmd := &cobra.Command{
		Use: "audit", Short: "Say what is wrong with the ledger of tasks", Args: cobra.NoArgs,
		Long: `Look through the ledger of tasks and say what is wrong, errors first, each with a
remedy. docs/tasks.md tells what each code means. It exits 1 where a finding is
an error; warnings alone are not wrong.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			values := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"severity": severity, "code": code} {
				if value != "" {
					values.Set(name, value)
				}
			}
			var found app.AuditView
			if err := e.ask(ctx, "/tasks/audit", values, &found); err != nil {
				return err
			}
			if asJSON {
				if err := e.printer().json(found); err != nil {
					return err
				}
			} else {
				showAudit(e.printer(), found)
			}
			if !found.OK {
				return errReported
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	cmd.Flags().IntVar(&limit, "limit", 200, "findings at most, 1 to 1000")
	cmd.Flags().StringVar(&severity, "severity", "", "only these: "+commas(subagent.Severities()))
	cmd.Flags().StringVar(&code, "code", "", "only this: "+commas(subagent.Codes()))
	return cmd
}

// ask reads an endpoint of the gateway, or of its store.
func (e *env) ask(ctx context.Context, path string, values url.Values, out any) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	c, err := e.connect(cfg, false)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it was only read from
	return c.get(ctx, path, values, out)
}

// tell calls an endpoint that changes something.
func (e *env) tell(ctx context.Context, path string, out any) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	c, err := e.connect(cfg, true)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // the answer is there
	return c.post(ctx, path, nil, out)
}

func showAudit(p printer, found app.AuditView) {
	for _, f := range found.Findings {
		mood := moodBusy
		if f.Severity == subagent.SeverityError {
			mood = moodBad
		}
		fmt.Fprintf(p.w, "%s  %s: %s\n", p.paint(mood, fmt.Sprintf("%-5s", f.Severity)), inLine(f.Subject), inLine(f.Text))
		about := string(f.Code)
		if f.TaskID != "" {
			about += " " + f.TaskID
		}
		if f.Since != 0 {
			about += " since " + p.time(f.Since)
		}
		fmt.Fprintf(p.w, "       %s\n       %s\n", p.paint(moodDim, about), f.Remedy)
	}
	fmt.Fprintln(p.w, taskLine(p, found.Tasks))
}

// taskLine is the ledger in one line.
func taskLine(p printer, c app.TaskCounts) string {
	verdict := p.paint(moodGood, "in order")
	switch {
	case c.Errors > 0:
		verdict = p.paint(moodBad, fmt.Sprintf("%d errors, %d warnings", c.Errors, c.Warnings))
	case c.Warnings > 0:
		verdict = p.paint(moodBusy, fmt.Sprintf("%d warnings", c.Warnings))
	}
	return fmt.Sprintf("tasks: %d active (%d queued, %d running, %d waiting), %d blocked; audit: %s",
		c.Active, c.Queued, c.Running, c.Waiting, c.Blocked, verdict)
}

func tasksMaintenance(e *env) *cobra.Command {
	apply, asJSON := false, false
	cmd := &cobra.Command{
		Use: "maintenance", Short: "Mend the ledger of tasks", Args: cobra.NoArgs,
		Long: `Print what maintenance of the ledger would do; with --apply, do it and print that.
It ends runs that nothing moves and tells who asked, blocks outcomes that are
stuck on their way, puts times in order, plans archives that nobody planned, lets
go of outcomes that were blocked for seven days, and prunes what
session.retention keeps no longer. The gateway does most of it by itself. Where none
runs, --apply takes the store for itself meanwhile, and who is to be told is told
after the next start.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			done, err := e.maintain(ctx, apply)
			if err != nil {
				return err
			}
			if asJSON {
				return e.printer().json(done)
			}
			showMaintenance(e.printer(), done, "`skein tasks maintenance --apply` does it")
			return nil
		}),
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "do it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; docs/cli.md lists the fields")
	return cmd
}

// maintain mends the ledger, or says what that would do. Where no gateway runs it
// is mended in the store.
func (e *env) maintain(ctx context.Context, apply bool) (done app.MaintenanceView, err error) {
	if !apply {
		err = e.ask(ctx, "/tasks/maintenance", nil, &done)
		return done, err
	}
	err = e.tell(ctx, "/tasks/maintenance", &done)
	if core.ErrorCode(err) != "gateway_down" || e.isScript() {
		return done, err
	}
	if done, err = e.maintain(ctx, false); err != nil {
		return done, err
	}
	if len(done.Actions) == 0 { // the store is left alone
		done.Applied = true
		return done, nil
	}
	cfg, err := e.load()
	if err != nil {
		return done, err
	}
	return app.MaintainAtRest(ctx, app.Options{
		Config: cfg, ConfigOptions: e.configOptions(), World: world.New(e.clock, nil, rand.Uint64()),
	})
}

func showMaintenance(p printer, m app.MaintenanceView, how string) {
	for _, a := range m.Actions {
		text := fmt.Sprintf("%s  %s: %s", p.paint(moodDim, choose(m.Applied, "done ", "would")), a.Subject, a.Text)
		if a.Rows > 0 {
			text += fmt.Sprintf(" (%d rows)", a.Rows)
		}
		fmt.Fprintln(p.w, text)
	}
	switch {
	case len(m.Actions) == 0:
		fmt.Fprintln(p.w, "nothing to do")
	case !m.Applied:
		fmt.Fprintf(p.w, "nothing was changed; %s\n", how)
	}
}
