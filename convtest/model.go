package convtest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/skein-bot/skein/convtest/script"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/scripted"
)

// recorder remembers the requests to the scripted models, and how often their
// rules were used, over all lives of a runtime.
type recorder struct {
	mu     sync.Mutex
	states map[string]*scripted.State // by the file of the rules
	calls  map[string]int             // by agent, "" for all
	newest map[string]string          // likewise: the last request as text
}

func newRecorder() *recorder {
	return &recorder{states: make(map[string]*scripted.State), calls: make(map[string]int), newest: make(map[string]string)}
}

// options returns what a runtime asks for when it makes a provider; rules tells
// the file of its rules.
func (r *recorder) options(rules func(provider string) string) func(string) scripted.Options {
	return func(provider string) scripted.Options {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := provider + " " + rules(provider)
		if r.states[name] == nil {
			r.states[name] = scripted.NewState()
		}
		return scripted.Options{State: r.states[name], OnRequest: r.record}
	}
}

func (r *recorder) record(req model.Request) {
	text := requestText(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, agent := range []string{"", req.Agent} {
		r.calls[agent]++
		r.newest[agent] = text
	}
}

// of returns the number of an agent's requests and the newest as text; "" means
// any agent.
func (r *recorder) of(agent string) (calls int, newest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[agent], r.newest[agent]
}

// requestText is the text in which `model /regex/` looks: the system prompt,
// the names of the tools on one line, then every item as the model gets it,
// with the calls of the model under what it said.
func requestText(req model.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	b.WriteString("\ntools:")
	for _, t := range req.Tools {
		b.WriteString(" " + t.Name)
	}
	b.WriteString("\n")
	for _, i := range req.Items {
		fmt.Fprintf(&b, "%s: %s\n", i.Kind, model.Render(i))
		for _, c := range i.Calls {
			fmt.Fprintf(&b, "call: %s %s\n", c.Name, c.Args)
		}
	}
	return b.String()
}

// askModel plays `model` lines.
func (p *play) askModel(do script.Statement) error {
	switch do := do.(type) {
	case script.ModelSaw:
		return p.modelSaw(do)
	case script.ModelCalls:
		calls, _ := p.model.of(do.Agent)
		if calls == do.N || p.killed() && calls > do.N {
			return nil
		}
		return &expectError{expected: fmt.Sprintf("%d calls of the model%s so far", do.N, ofAgent(do.Agent)), seen: []string{fmt.Sprintf("%d calls", calls)}}
	}
	return nil
}

func (p *play) modelSaw(do script.ModelSaw) error {
	re, err := do.Pattern.Compile(p.lookup)
	if err != nil {
		return err
	}
	calls, text := p.model.of(do.Agent)
	what := "the last request to the model" + ofAgent(do.Agent)
	switch {
	case calls == 0:
		return &expectError{expected: what, seen: []string{"there was none"}}
	case re.MatchString(text) == do.Not:
		how := " to contain "
		if do.Not {
			how = " not to contain "
		}
		return &expectError{expected: what + how + do.Pattern.String(), seen: strings.Split(strings.TrimSpace(text), "\n")}
	}
	return nil
}

func ofAgent(agent string) string {
	if agent == "" {
		return ""
	}
	return " of " + agent
}
