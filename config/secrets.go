package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// maxSecretBytes bounds a secret file.
const maxSecretBytes = 1 << 20

// LiteralSecrets returns the keys whose secrets stand in the file itself, each
// as file:line:column and the key's path. Doctors warn of them.
func (c *Config) LiteralSecrets() []string {
	var found []string
	walk(Keys(), reflectValue(c), nil, func(k *Key, v reflect.Value, path Path) {
		if k.Kind != KindSecret {
			return
		}
		if s, ok := v.Interface().(Secret); ok && s.Source() == SecretLiteral {
			found = append(found, fmt.Sprintf("%s: %s", s.content().pos, path))
		}
	})
	return found
}

func (d *decoder) secret(n *json5.Node, v reflect.Value, path Path) {
	switch n.Kind {
	case json5.String:
		v.Set(reflect.ValueOf(parseSecretText(n.Text, n.Pos)))
	case json5.Object:
		if s, ok := d.secretReference(n, path); ok {
			v.Set(reflect.ValueOf(s))
		}
	default:
		d.mismatch(n, path, `a secret such as "$NAME" or {source: "file", id: "PATH"}`, "")
	}
}

// secretReference reads {source, id}.
func (d *decoder) secretReference(n *json5.Node, path Path) (Secret, bool) {
	before := len(d.problems)
	for _, m := range n.Members {
		if m.Key != "source" && m.Key != "id" {
			d.report(Problem{Pos: m.KeyPos, Path: path.Child(m.Key).String(), Message: "unknown key", Suggestion: "valid keys here: source, id"})
		}
	}
	source := d.referencePart(n, "source", `one of "env", "file", "exec"`, path, func(s string) bool {
		return slices.Contains([]string{"env", "file", "exec"}, s)
	})
	id := d.referencePart(n, "id", "the name of a variable, a file or a program", path, func(s string) bool {
		return s != "" && (source != "env" || envName.MatchString(s))
	})
	if len(d.problems) > before {
		return Secret{}, false
	}
	if source != "env" {
		var fault *textFault
		if id, fault = expandVariables(id, d.opts.env()); fault != nil {
			d.report(Problem{Pos: n.Pos, Path: path.Child("id").String(), Message: fault.message, Suggestion: fault.suggestion})
			return Secret{}, false
		}
	}
	switch source {
	case "file":
		id = d.resolvePath(id, "path", n.Pos.File)
	case "exec":
		words := strings.Fields(id)
		if len(words) == 0 {
			d.report(Problem{Pos: n.Pos, Path: path.Child("id").String(), Message: "it names no program"})
			return Secret{}, false
		}
		if strings.ContainsRune(words[0], '/') || strings.HasPrefix(words[0], "~") {
			words[0] = d.resolvePath(words[0], "path", n.Pos.File)
		}
		id = strings.Join(words, " ")
	}
	return newSecret(secretPayload{source: SecretSource(source), id: id, pos: n.Pos}), true
}

func (d *decoder) referencePart(n *json5.Node, key, expected string, path Path, valid func(string) bool) string {
	part := n.Get(key)
	at := path.Child(key).String()
	switch {
	case part == nil:
		d.report(Problem{Pos: n.Pos, Path: at, Expected: expected, Found: "nothing", Suggestion: "add the key"})
	case part.Kind != json5.String || !valid(part.Text):
		d.report(Problem{Pos: part.Pos, Path: at, Expected: expected, Found: describeNode(part)})
	default:
		return part.Text
	}
	return ""
}

// ResolveSecrets reads the values of all secrets that are in use: not those of
// channels, accounts and plugins that are switched off, nor of parts that this
// build lacks. It is all or nothing: if one is missing, none is set, and the
// error, of type InvalidError, names every missing one and its place. It must be
// called before the configuration is shared between goroutines; it reads files
// and runs programs, up to 4 at once and each for 10 s at most, and blocks for as
// long.
func (c *Config) ResolveSecrets(opts Options) error {
	r := secretReader{opts: opts, values: map[*secretPayload]string{}}
	var lines []string
	each := func(visit func(path Path, s Secret)) {
		c.eachSecret(func(path Path, s Secret) {
			if !s.IsZero() && !s.IsResolved() && !c.isInactive(path) {
				visit(c.asWritten(path), s)
			}
		})
	}
	each(func(_ Path, s Secret) {
		if line := s.content().id; s.Source() == SecretExec && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	})
	r.programs = runPrograms(lines, opts.runProgram())
	each(r.resolve)
	if len(r.problems) > 0 {
		inFileOrder(r.problems)
		return r.problems
	}
	for payload, value := range r.values {
		payload.value, payload.resolved = value, true
	}
	return nil
}

// secretReader reads secrets before any of them is set.
type secretReader struct {
	opts     Options
	programs map[string]program // by what they were started with
	values   map[*secretPayload]string
	problems InvalidError
}

func (r *secretReader) resolve(path Path, s Secret) {
	p := s.content()
	value, fault := r.read(p)
	if fault == nil && value == "" {
		fault = &textFault{message: fmt.Sprintf("the secret from %s is empty", s.Origin())}
	}
	if fault != nil {
		r.problems = append(r.problems, Problem{Pos: p.pos, Path: path.String(), Message: fault.message, Suggestion: fault.suggestion})
		return
	}
	r.values[p] = value
}

func (r *secretReader) read(p *secretPayload) (string, *textFault) {
	switch p.source {
	case SecretEnv:
		value, ok := r.opts.env()(p.id)
		if !ok {
			return "", unsetVariable(p.id)
		}
		return value, nil
	case SecretTemplate:
		return expandVariables(p.id, r.opts.env())
	case SecretFile:
		content, err := r.opts.readFile()(p.id)
		if err == nil && len(content) > maxSecretBytes {
			err = errors.New("it is larger than 1 MiB")
		}
		if err != nil {
			return "", &textFault{message: fmt.Sprintf("the secret file %s cannot be read: %v", p.id, err)}
		}
		return strings.TrimRight(string(content), "\r\n"), nil
	}
	done := r.programs[p.id]
	if done.err != nil {
		return "", &textFault{
			message:    fmt.Sprintf("the secret program %s failed: %v", strings.Fields(p.id)[0], done.err),
			suggestion: "run it by hand as the user that runs skein",
		}
	}
	return strings.TrimRight(string(done.printed), "\r\n"), nil
}

// isInactive says whether a key belongs to something that does not run.
func (c *Config) isInactive(path Path) bool {
	text := path.String()
	return slices.ContainsFunc(c.source.inactive, func(prefix string) bool {
		rest, ok := strings.CutPrefix(text, prefix)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// eachSecret visits every secret, set or not.
func (c *Config) eachSecret(visit func(Path, Secret)) {
	walk(Keys(), reflectValue(c), nil, func(k *Key, v reflect.Value, path Path) {
		if k.Kind == KindSecret {
			visit(path, v.Interface().(Secret))
		}
	})
}
