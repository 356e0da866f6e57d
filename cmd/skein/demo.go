package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/cmd/skein/demo"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model/openai"
)

// demoOptions are the flags of `skein demo`.
type demoOptions struct {
	fresh, headless bool
	script, model   string
	chat            chatOptions
}

func demoCommand(e *env) *cobra.Command {
	o := demoOptions{chat: chatOptions{patience: 2 * time.Minute}}
	cmd := &cobra.Command{
		Use: "demo", Short: "Try everything in this terminal: no keys, no network, no setup", Args: cobra.NoArgs,
		Long: `Talk to a sample agent in this terminal. It sends sub-agents into threads, and
you can write to each of them there. Everything is kept in ./` + demo.Folder + `: end it
however you like, start it again, and it goes on. The folder is an ordinary
project; other commands look at it with --config ` + demo.Folder + `/skein.json5.

The agents are played by a scripted model. With OPENAI_API_KEY in the environment
they run on that service instead (OPENAI_BASE_URL, default the vendor's;
OPENAI_MODEL, default the first that it lists), else with ANTHROPIC_API_KEY on
that one (ANTHROPIC_BASE_URL, ANTHROPIC_MODEL), unless --model scripted or
--headless says otherwise.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if err := e.refuseInScript("demo"); err != nil {
				return err
			}
			return e.demo(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.fresh, "fresh", false, "start over: remove ./"+demo.Folder+" first")
	f.BoolVar(&o.headless, "headless", false, "without a terminal: run until stopped, or play --script")
	f.StringVar(&o.script, "script", "", "play this conversation script against the demo's configuration, as skein test does; needs no terminal")
	f.StringVar(&o.model, "model", "", `"scripted", or the id of a model of the service in the environment`)
	o.chat.flags(cmd)
	return cmd
}

func (e *env) demo(ctx context.Context, o demoOptions) error {
	dir := e.path(demo.Folder)
	if o.script != "" {
		return e.demoScript(ctx, dir, o)
	}
	if o.fresh {
		if err := e.startOver(dir); err != nil {
			return err
		}
	}
	name, err := demo.Write(dir)
	if err != nil {
		return demoFolderError(dir, err)
	}
	load := func() (*config.Config, error) { return e.demoConfig(ctx, name, o) }
	cfg, err := load()
	if err != nil {
		return err
	}
	if o.headless {
		log, done := e.gatewayLog(cfg)
		defer done()
		return e.serveUntilStopped(ctx, cfg, log, load, noReadyFD)
	}
	o.chat.cfg, o.chat.load, o.chat.again = cfg, load, "skein demo"
	o.chat.greeting = e.demoGreeting(cfg, e.fillsTerminal(o.chat))
	return e.chat(ctx, o.chat)
}

func demoFolderError(dir string, err error) error {
	e := core.Errorf("demo_folder", "the demo's folder %s cannot be written", dir).WithRemedy("start it in a folder that you may write to")
	e.Err = err
	return e
}

// startOver removes the demo's folder, unless a demo runs in it.
func (e *env) startOver(dir string) error {
	if dialSocket(dir) {
		return core.Errorf("gateway_running", "a demo is running in %s", dir).WithRemedy("end it before you start over")
	}
	if err := os.RemoveAll(dir); err != nil {
		return demoFolderError(dir, err)
	}
	return nil
}

// demoConfig loads the demo's configuration, with the model of the environment
// if there is one.
func (e *env) demoConfig(ctx context.Context, name string, o demoOptions) (*config.Config, error) {
	doc, err := config.ReadTree(name, e.configOptions())
	if err != nil {
		return nil, err
	}
	tree := doc.Tree
	overlay, err := e.demoService(ctx, o)
	if err != nil {
		return nil, err
	}
	if overlay != nil {
		tree = json5.Merge(tree, overlay)
	}
	cfg, _, err := config.Decode(tree, e.configOptions())
	if err != nil {
		return nil, err
	}
	err = cfg.ResolveSecrets(e.configOptions())
	return cfg, err
}

// demoService returns the configuration of the service to use, nil for the
// scripted model.
func (e *env) demoService(ctx context.Context, o demoOptions) (*json5.Node, error) {
	openaiKey, _ := e.lookup("OPENAI_API_KEY")
	anthropicKey, _ := e.lookup("ANTHROPIC_API_KEY")
	switch {
	case o.model == "scripted":
		return nil, nil
	case openaiKey != "" && !o.headless:
		base, _ := e.lookup("OPENAI_BASE_URL")
		id, err := e.openaiModel(ctx, base, openaiKey, o.model)
		if err != nil {
			return nil, err
		}
		return serviceOverlay(config.ProviderOpenAI, "$OPENAI_API_KEY", base, id)
	case anthropicKey != "" && !o.headless:
		base, _ := e.lookup("ANTHROPIC_BASE_URL")
		id, _ := e.lookup("ANTHROPIC_MODEL")
		return serviceOverlay(config.ProviderAnthropic, "$ANTHROPIC_API_KEY", base, orDefault(o.model, orDefault(id, anthropicModel)))
	case o.model != "":
		return nil, core.Errorf("demo_model", "the model %q needs a service", o.model).
			WithRemedy("set OPENAI_API_KEY, and OPENAI_BASE_URL if it is not the vendor's, or ANTHROPIC_API_KEY")
	}
	return nil, nil
}

// anthropicModel is the model of the demo on the Anthropic API where nobody
// names another.
const anthropicModel = "claude-sonnet-4-5"

// modelsTimeout is how long a service may take to list its models.
const modelsTimeout = 15 * time.Second

// openaiModel returns the model to use: asked for, OPENAI_MODEL, or the first
// that the service lists.
func (e *env) openaiModel(ctx context.Context, base, key, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	if id, _ := e.lookup("OPENAI_MODEL"); id != "" {
		return id, nil
	}
	p, err := openai.New(openai.Config{BaseURL: base, Key: key, Transport: http.DefaultTransport, Clock: e.clock})
	if err != nil {
		return "", err
	}
	ctx, cancel := e.clock.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	ids, err := p.Models(ctx)
	if err != nil {
		failed := core.Errorf("demo_model", "the models of %s cannot be listed", orDefault(base, openai.DefaultBaseURL)).
			WithRemedy("set OPENAI_MODEL, or use --model scripted")
		failed.Err = err
		return "", failed
	}
	return ids[0], nil
}

func orDefault(s, byDefault string) string {
	if s == "" {
		return byDefault
	}
	return s
}

// serviceOverlay puts a model of a service in the place of the scripted one;
// key is a reference to the environment.
func serviceOverlay(kind config.ProviderType, key, base, id string) (*json5.Node, error) {
	provider := map[string]any{"type": kind, "apiKey": key}
	if base != "" {
		provider["baseUrl"] = base
	}
	src, err := json.Marshal(map[string]any{
		"models": map[string]any{"providers": map[string]any{string(kind): provider}},
		"agents": map[string]any{"defaults": map[string]any{"model": string(kind) + "/" + id}},
	})
	if err != nil {
		return nil, err
	}
	doc, err := config.ParseTree("<environment>", src, config.Options{})
	if err != nil {
		return nil, err
	}
	return doc.Tree, nil
}

// demoGreeting says what to try, on the whole terminal or line by line.
func (e *env) demoGreeting(cfg *config.Config, screen bool) string {
	model := "a scripted model, no network"
	if name := cfg.Agents.Defaults.Model; !strings.HasPrefix(name, "demo/") {
		model = "the model " + name
	}
	text := fmt.Sprintf("Skein demo: two agents on %s.\nEverything is kept in ./%s\n", model, demo.Folder)
	if screen {
		text += demoTriesOnScreen
	} else {
		text += demoTries
	}
	if _, err := os.Stat(filepath.Join(cfg.StateDir(), "skein.db")); !errors.Is(err, fs.ErrNotExist) {
		text += "Going on from last time (--fresh starts over).\n\n"
	}
	return text
}

// What to try, with the keys of either kind of chat.
const (
	demoTries = `
  research cats and dogs    two sub-agents, each in a thread of its own
  /thread 1                 go into a thread: only that sub-agent answers there
  /thread main              come back (Tab goes to the next place)
  /agents   /help           who works; all commands
  Ctrl-D                    end; kill it if you like: started again, it goes on

`
	demoTriesOnScreen = `
- ` + "`research cats and dogs`" + ` sends two sub-agents out, each in a thread of its own
- Tab goes into a thread: only that sub-agent answers there; Tab comes back
- ` + "`/agents`" + ` shows who works, ` + "`/help`" + ` all commands, Ctrl-G all keys
- Ctrl-C leaves; kill it if you like: started again, it goes on

`
)
