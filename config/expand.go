package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (value string, ok bool)

// textFault says what is wrong inside a string.
type textFault struct {
	message, suggestion string
}

// expandVariables replaces every ${NAME}; $${ stands for ${ itself.
func expandVariables(text string, env Env) (string, *textFault) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(escaped + "${")
			text = after
			continue
		}
		b.WriteString(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !envName.MatchString(name) {
			return "", &textFault{`"${" without the name of a variable and "}" after it`, `write $${ for the characters ${ themselves`}
		}
		value, ok := env(name)
		if !ok {
			return "", unsetVariable(name)
		}
		b.WriteString(value)
		text = rest
	}
}

func unsetVariable(name string) *textFault {
	return &textFault{
		message:    fmt.Sprintf("the environment variable %s is not set", name),
		suggestion: fmt.Sprintf("set it, for example export %s=...", name),
	}
}

// expandTree returns a copy of a free-form value with its strings expanded.
func (d *decoder) expandTree(n *json5.Node, path Path) *json5.Node {
	c := *n
	switch n.Kind {
	case json5.String:
		text, fault := expandVariables(n.Text, d.opts.env())
		if fault != nil {
			d.report(Problem{Pos: n.Pos, Path: path.String(), Message: fault.message, Suggestion: fault.suggestion})
		}
		c.Text = text
	case json5.Array:
		c.Items = make([]*json5.Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = d.expandTree(item, path.Child(fmt.Sprintf("[%d]", i)))
		}
	case json5.Object:
		c.Members = make([]*json5.Member, len(n.Members))
		for i, m := range n.Members {
			mc := *m
			mc.Value = d.expandTree(m.Value, path.Child(m.Key))
			c.Members[i] = &mc
		}
	}
	return &c
}

func (o Options) env() Env {
	if o.Env != nil {
		return o.Env
	}
	return os.LookupEnv
}

func (o Options) readFile() func(string) ([]byte, error) {
	if o.ReadFile != nil {
		return o.ReadFile
	}
	return os.ReadFile
}

func (o Options) runProgram() func(string) ([]byte, error) {
	if o.RunProgram != nil {
		return o.RunProgram
	}
	return func(line string) ([]byte, error) { return runProgram(line, o.deadline) }
}

// home returns the home directory, or "" if there is none.
func (o Options) home() string {
	if o.Home != "" {
		return o.Home
	}
	if dir, ok := o.env()("HOME"); ok {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}
