package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
)

func initCommand(e *env) *cobra.Command {
	yes, force := false, false
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a configuration file, by asking three questions", Args: cobra.MaximumNArgs(1),
		Long: `Write a commented configuration file, skein.json5 unless FILE or --config names
another, by asking three questions. What is in brackets is the answer to just
pressing return; --yes takes it for every question. A file that exists is left
alone; with --force it is kept beside the new one as .1.

No credential is written into the file, only the name of the environment variable
that holds it.`,
		RunE: does(func(_ context.Context, args []string) error {
			if err := e.refuseInScript("init"); err != nil {
				return err
			}
			name := config.FileName
			switch {
			case len(args) == 1:
				name = args[0]
			case e.configFlag != "":
				name = e.configFlag
			}
			return e.init(e.path(name), yes, force)
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "ask nothing")
	cmd.Flags().BoolVar(&force, "force", false, "write even if the file exists")
	return cmd
}

// modelService is a choice of the first question.
type modelService struct {
	name     string
	variable string // that holds the key, "" for none
	model    string // the default one
}

// scriptedService needs no key and no network.
const scriptedService = "scripted"

func (e *env) modelServices() []modelService {
	openaiModel, _ := e.lookup("OPENAI_MODEL")
	anthropicModel, _ := e.lookup("ANTHROPIC_MODEL")
	return []modelService{
		{"anthropic", "ANTHROPIC_API_KEY", either(anthropicModel, "claude-sonnet-4-5")},
		{"openai", "OPENAI_API_KEY", either(openaiModel, "gpt-4o")},
		{scriptedService, "", "echo"},
	}
}

func either(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// init asks and writes.
func (e *env) init(name string, yes, force bool) error {
	ask := e.questions(yes)
	services := e.modelServices()
	usual := services[len(services)-1]
	for _, s := range slices.Backward(services) {
		if key, ok := e.lookup(s.variable); ok && key != "" {
			usual = s
		}
	}
	var names []string
	for _, s := range services {
		names = append(names, s.name)
	}
	chosen, err := ask("Which model service: "+strings.Join(names, ", ")+"?", usual.name)
	if err != nil {
		return err
	}
	at := slices.Index(names, chosen)
	if at < 0 {
		return core.Errorf("init_answer", "there is no model service %q", chosen).WithRemedy("choose one of %s; any endpoint that speaks the OpenAI protocol is openai with a baseUrl", strings.Join(names, ", "))
	}
	service := services[at]
	model, err := ask("Which of its models?", service.model)
	if err != nil {
		return err
	}
	instructions, err := ask("What shall the agent be told?", "You are a helpful assistant.")
	if err != nil {
		return err
	}
	text := starterConfig(service, model, instructions)
	if _, _, err := config.Parse(name, []byte(text), e.configOptions()); err != nil {
		return err
	}
	if err := config.Create(name, []byte(text), force); errors.Is(err, fs.ErrExist) {
		return core.Errorf("config_exists", "%s exists already", name).WithRemedy("change it with `skein config set`, or write a new one with --force")
	} else if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s is written. Next:\n", name)
	if key, _ := e.lookup(service.variable); key == "" && service.variable != "" {
		fmt.Fprintf(e.stdout, "  export %s=...\n", service.variable)
	}
	fmt.Fprint(e.stdout, "  skein chat          talk to the agent in this terminal\n  skein run           run the gateway\n")
	return nil
}

// questions returns what asks one question and returns the answer.
func (e *env) questions(yes bool) func(question, usual string) (string, error) {
	in := bufio.NewScanner(e.stdin)
	return func(question, usual string) (string, error) {
		if yes {
			return usual, nil
		}
		fmt.Fprintf(e.stdout, "%s [%s] ", question, usual)
		if !in.Scan() {
			return "", core.Errorf("init_answer", "the question was not answered").WithRemedy("--yes takes the answer in brackets")
		}
		return either(strings.TrimSpace(in.Text()), usual), nil
	}
}

// starterConfig is what init writes.
func starterConfig(s modelService, model, instructions string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("// The configuration of skein. `skein config check` checks it, docs/configuration.md")
	line("// lists every key. A running gateway takes changes over by itself.")
	line("{")
	line("  // Where models come from. A key is the name of an environment variable, never the")
	line("  // key itself.")
	line("  models: {")
	line("    providers: {")
	if s.variable == "" {
		line("      scripted: { type: \"scripted\" }, // answers without a model; file: \"rules.json5\" says what")
	} else {
		line("      %s: { type: %s, apiKey: \"$%s\" }, // baseUrl: for another endpoint", s.name, json5.Quote(s.name), s.variable)
	}
	line("    },")
	line("  },")
	line("  agents: {")
	line("    defaults: {")
	line("      model: %s,", json5.Quote(s.name+"/"+model))
	line("      subagents: { maxSpawnDepth: 1 }, // 2: sub-agents may start sub-agents")
	line("    },")
	line("    entries: {")
	line("      main: {")
	line("        default: true,")
	line("        instructions: %s, // or a file: \"main.md\"", json5.Quote(instructions))
	line("      },")
	line("    },")
	line("  },")
	line("  // Where people write. The console is this machine's terminal: `skein chat`.")
	line("  channels: {")
	line("    console: {},")
	line("  },")
	line("  // Everything is kept here, with the socket of the gateway beside it.")
	line("  store: { url: \"sqlite:.skein/skein.db\" },")
	line("}")
	return b.String()
}
