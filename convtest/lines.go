package convtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/convtest/script"
	"github.com/skein-bot/skein/core/world"
)

// life plays what happens to the runtime.
func (p *play) life(do script.Statement) error {
	s := p.stage
	switch do := do.(type) {
	case script.Kill:
		if !s.up() {
			return nil
		}
		p.transcript.note("kill")
		return s.kill()
	case script.Restart:
		if s.up() {
			if err := s.stop(); err != nil {
				return err
			}
		}
		p.transcript.note("restart")
		return s.start()
	case script.Crash:
		s.watch.arm(do.Point)
		return nil
	case script.Start:
		if err := p.awaitCrash(); err != nil || s.up() {
			return err
		}
		p.transcript.note("start")
		return s.start()
	}
	return nil
}

// awaitCrash waits until the crash point that a line armed was passed. One that
// is not is disarmed, and the report names it.
func (p *play) awaitCrash() error {
	point := p.stage.watch.pending()
	if point == "" || !p.stage.up() {
		return nil
	}
	_, err := p.stage.wait(expectLimit, func() (bool, error) { return !p.stage.up(), nil })
	if err == nil && p.stage.up() {
		p.stage.watch.arm("")
		p.unpassed = append(p.unpassed, point)
	}
	return err
}

// config replaces the configuration. The plan of the reload, or why it was
// refused, is the output for the lines after it.
func (p *play) config(do script.Config) error {
	cfg, err := p.loadConfig(do.File)
	if err != nil {
		p.output, p.exit, p.ran = err.Error(), 1, true
		if do.Refused {
			return nil
		}
		return &expectError{expected: "a valid configuration in " + do.File, seen: strings.Split(err.Error(), "\n")}
	}
	was := p.cfg
	p.cfg = cfg
	p.stage.watch.mask(do.Refused) // after a kill there would be nothing to refuse
	err = p.reload()
	p.stage.watch.mask(false)
	plan := config.Diff(was, cfg).String()
	p.output, p.exit, p.ran = plan, 0, true
	if err != nil {
		p.output, p.exit = err.Error(), 1
	}
	switch {
	case err != nil && do.Refused:
		p.cfg = was
		return nil
	case err != nil:
		p.cfg = was
		return &expectError{expected: "the reload of " + do.File + " to succeed", seen: strings.Split(err.Error(), "\n")}
	case do.Refused:
		return &expectError{expected: "the reload of " + do.File + " to be refused", seen: strings.Split("it succeeded:\n"+strings.TrimSpace(plan), "\n")}
	}
	data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(do.File)))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, configFile), data, 0o600)
}

// reload gives p.cfg to the runtime; one that is down, or is killed meanwhile,
// reads it when it starts.
func (p *play) reload() error {
	if !p.stage.up() {
		return nil
	}
	err := p.stage.drive("the reload", func(ctx context.Context) error {
		_, err := p.stage.app.Reload(ctx, p.cfg)
		return err
	})
	if point, _ := p.stage.watch.hit(); point != "" {
		return p.stage.settle()
	}
	return err
}

// ownersChanged puts the configuration in force in which the owners are those
// of the lines so far.
func (p *play) ownersChanged() error {
	cfg, err := p.loadConfig(configFile)
	if err != nil {
		return err
	}
	p.cfg = cfg
	return p.reload()
}

// command plays `$`, `>` and `exit`.
func (p *play) command(do script.Statement) error {
	if cmd, ok := do.(script.Command); ok {
		return p.runCommand(cmd)
	}
	if !p.ran {
		return &expectError{expected: "a command, such as `$ skein tasks list`, before this line", seen: []string{"there was none"}}
	}
	switch do := do.(type) {
	case script.Exit:
		if p.exit != do.Code {
			return p.printed(fmt.Sprintf("exit code %d, not %d", do.Code, p.exit))
		}
	case script.Output:
		re, err := do.Pattern.Compile(p.lookup)
		if err != nil {
			return err
		}
		m := re.FindStringSubmatch(p.output)
		switch {
		case m == nil && !do.Not:
			return p.printed("output that matches " + do.Pattern.String())
		case m != nil && do.Not:
			return p.printed("no output that matches " + do.Pattern.String())
		}
		if do.As != "" {
			p.vars[do.As] = m[1]
		}
	}
	return nil
}

// printed is a failure about the last command.
func (p *play) printed(expected string) error {
	return &expectError{expected: expected, seen: strings.Split(strings.TrimRight(p.output, "\n"), "\n")}
}

func (p *play) runCommand(cmd script.Command) error {
	if p.opts.RunCLI == nil {
		return fmt.Errorf("commands cannot be run here: the program that plays this script gave no RunCLI")
	}
	args := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		args[i] = p.expand(a)
	}
	env := CLIEnv{Dir: p.dir, Config: p.cfg, World: world.New(p.stage.clock, p.stage.work, p.seed), App: p.stage.app}
	if env.App != nil {
		env.API = env.App.API()
	}
	p.ran = true
	p.stage.watch.mask(true)
	defer p.stage.watch.mask(false)
	err := p.stage.hold("the command", func(ctx context.Context) error {
		p.output, p.exit = p.opts.RunCLI(ctx, args, env)
		return nil
	})
	if err == nil {
		err = p.stage.settle()
	}
	return err
}

// moderate plays what platforms and admins do.
func (p *play) moderate(ctx context.Context, do script.Statement) error {
	switch do := do.(type) {
	case script.SetPlace:
		at := p.resolve(do.Place)
		return refused(at.server.SetPlace(at.at, testserver.PlaceKind(do.Kind)))
	case script.Thread:
		at := p.resolve(do.Place)
		return refused(at.server.ChangeThread(ctx, at.at, testserver.ThreadOp(do.Op), p.expand(do.Title)))
	case script.Migrate:
		at := p.resolve(do.Place)
		return refused(at.server.Migrate(ctx, at.at))
	case script.Kick:
		at := p.resolve(do.Place)
		return refused(at.server.Kick(ctx, at.at))
	case script.Permit:
		at := p.resolve(do.Place)
		return refused(at.server.Permit(ctx, at.at))
	}
	return nil
}

// trouble plays what goes wrong.
func (p *play) trouble(do script.Statement) error {
	switch do := do.(type) {
	case script.Raw:
		f, _ := p.script.File(do.File)
		return refused(p.channel(do.Channel).server.Raw(accountName(do.Account), p.contents(f)))
	case script.Fault:
		return p.channel(do.Channel).server.Fault(testserver.Fault{
			Method: do.Method, Kind: testserver.FaultKind(do.Kind), Status: do.Status, After: do.After, Times: do.Times,
		})
	case script.Redeliver:
		if do.Swap {
			return p.channel(do.Channel).server.Reorder()
		}
		return p.channel(do.Channel).server.Dup()
	}
	return nil
}
