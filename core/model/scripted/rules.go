package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/core/model"
)

// Rule is one rule as it is written in a rule file.
type Rule struct {
	When  When    `json:"when"`
	Say   *string `json:"say,omitempty"`
	Think string  `json:"think,omitempty"`
	Call  []Call  `json:"call,omitempty"`
	Delay string  `json:"delay,omitempty"` // a Go duration
	Pace  string  `json:"pace,omitempty"`  // a Go duration
	Usage *Usage  `json:"usage,omitempty"`
	Times int     `json:"times,omitempty"` // 0 is without end
	Fail  Failure `json:"fail,omitempty"`
}

// When says which requests a rule answers; an empty field matches all.
type When struct {
	User     string `json:"user,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Task     string `json:"task,omitempty"`
	LastTool string `json:"lastTool,omitempty"`
	Result   string `json:"result,omitempty"`
	Event    string `json:"event,omitempty"`
	System   string `json:"system,omitempty"`
}

// Call is one tool call of an answer. Args is a JSON object, {} if absent.
type Call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Usage is what an answer reports as its tokens.
type Usage struct {
	In  int64 `json:"in"`
	Out int64 `json:"out"`
}

// Failure says how a call fails.
type Failure string

// The failures.
const (
	FailRateLimited Failure = "429"
	FailOverloaded  Failure = "500"
	FailOverflow    Failure = "overflow"
	FailDrop        Failure = "drop"
	FailStall       Failure = "stall"
)

var failures = []Failure{FailRateLimited, FailOverloaded, FailOverflow, FailDrop, FailStall}

// ErrBadRules is wrapped by every error of ParseRules and New about rules.
var ErrBadRules = errors.New("bad rules of the scripted model")

// ParseRules reads a rule file that was decoded to plain JSON. An unknown key
// is an error that names the rule, counted from 1. New checks the rest.
func ParseRules(doc []byte) ([]Rule, error) {
	var file struct {
		Rules []json.RawMessage `json:"rules"`
	}
	if err := strict(doc, &file); err != nil {
		return nil, fmt.Errorf("%w: %w (want {rules: [...]})", ErrBadRules, err)
	}
	rules := make([]Rule, len(file.Rules))
	for i, raw := range file.Rules {
		if err := strict(raw, &rules[i]); err != nil {
			return nil, badRule(i, err)
		}
	}
	return rules, nil
}

// strict decodes one JSON value and refuses unknown keys and what follows it.
func strict(doc []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the value")
	}
	return nil
}

func badRule(i int, err error) error {
	return fmt.Errorf("%w: rule %d: %w", ErrBadRules, i+1, err)
}

// rule is a checked Rule.
type rule struct {
	Rule
	index                             int
	user, task, result, event, system *regexp.Regexp
	args                              []any // per call, decoded
	delay, pace                       time.Duration
}

// compile checks all rules and reports every fault at once.
func compile(rules []Rule) ([]*rule, error) {
	out := make([]*rule, len(rules))
	var faults []error
	for i, r := range rules {
		c, err := compileRule(r)
		if err != nil {
			faults = append(faults, badRule(i, err))
			continue
		}
		c.index, out[i] = i, c
	}
	return out, errors.Join(faults...)
}

func compileRule(r Rule) (*rule, error) {
	c := &rule{Rule: r}
	if err := c.patterns(); err != nil {
		return nil, err
	}
	if err := c.calls(); err != nil {
		return nil, err
	}
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{{"delay", r.Delay, &c.delay}, {"pace", r.Pace, &c.pace}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("%s %q is no duration (write for example \"3s\" or \"1m30s\")", d.key, d.text)
		}
		*d.to = v
	}
	switch {
	case r.Fail != "" && !slices.Contains(failures, r.Fail):
		return nil, fmt.Errorf("fail %q is unknown (one of %q)", r.Fail, failures)
	case r.Times < 0:
		return nil, fmt.Errorf("times %d is negative (leave it out for no end)", r.Times)
	case r.Usage != nil && (r.Usage.In < 0 || r.Usage.Out < 0):
		return nil, errors.New("usage is negative")
	case !c.answers() && r.Fail == "":
		return nil, errors.New("it does nothing (give it say, call, think or fail)")
	}
	return c, nil
}

func (r *rule) patterns() error {
	for _, p := range []struct {
		key, text string
		re        **regexp.Regexp
	}{
		{"user", r.When.User, &r.user}, {"task", r.When.Task, &r.task}, {"result", r.When.Result, &r.result},
		{"event", r.When.Event, &r.event}, {"system", r.When.System, &r.system},
	} {
		if p.text == "" {
			continue
		}
		re, err := pattern(p.text)
		if err != nil {
			return fmt.Errorf("when.%s: %w", p.key, err)
		}
		*p.re = re
	}
	return nil
}

// pattern compiles "/re/flags".
func pattern(s string) (*regexp.Regexp, error) {
	end := strings.LastIndexByte(s, '/')
	if s[0] != '/' || end == 0 {
		return nil, fmt.Errorf("%q is no pattern (write \"/%s/\")", s, s)
	}
	expr, flags := s[1:end], s[end+1:]
	if strings.Trim(flags, "ism") != "" {
		return nil, fmt.Errorf("%q has unknown flags %q (i, s and m are known)", s, flags)
	}
	if flags != "" {
		expr = "(?" + flags + ")" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("%q does not compile: %w", s, err)
	}
	return re, nil
}

func (r *rule) calls() error {
	for i, call := range r.Call {
		if call.Tool == "" {
			return fmt.Errorf("call %d has no tool", i+1)
		}
		var args map[string]any
		raw := call.Args
		if len(raw) == 0 {
			raw = json.RawMessage(`{}`)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&args); err != nil || args == nil {
			return fmt.Errorf("call %d: args are no object", i+1)
		}
		r.args = append(r.args, args)
	}
	return nil
}

// answers reports whether the rule has an answer, and not only a failure.
func (r *rule) answers() bool { return r.Say != nil || len(r.Call) > 0 || r.Think != "" }

// match reports whether the rule is for req, and returns the expansion of its
// groups.
func (r *rule) match(req model.Request, n newest) (groups, bool) {
	switch {
	case r.When.Agent != "" && r.When.Agent != req.Agent,
		r.system != nil && !r.system.MatchString(req.System),
		r.task != nil && !r.matchTask(req),
		r.When.LastTool != "" && (n.kind != model.ToolOutput || n.tool != r.When.LastTool):
		return nil, false
	}
	var g groups
	for _, p := range []struct {
		kind model.ItemKind
		re   *regexp.Regexp
	}{{model.ToolOutput, r.result}, {model.Event, r.event}, {model.User, r.user}} {
		if p.re == nil {
			continue
		}
		m, ok := n.match(p.kind, p.re)
		if !ok {
			return nil, false
		}
		g = m
	}
	return g, true
}

func (r *rule) matchTask(req model.Request) bool {
	for _, s := range []string{req.Task, req.TaskName, req.TaskText} {
		if s != "" && r.task.MatchString(s) {
			return true
		}
	}
	return false
}
