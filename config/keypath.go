package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// ParsePath reads what Path.String writes: keys joined by dots, an item of a
// list as [0], a key with other characters as ["like this"] or ['like this'].
func ParsePath(text string) (Path, error) {
	var path Path
	rest := text
	for rest != "" {
		step, after, ok := nextStep(rest, len(path) == 0)
		if !ok {
			return nil, fmt.Errorf("%q is not the path of a key: expected a key or [..] at %q, as in agents.defaults.model, routes[0].agentId or groups[\"-100\"]", text, rest)
		}
		path, rest = append(path, step), after
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("the path of a key is empty; write one such as agents.defaults.model")
	}
	return path, nil
}

// nextStep takes one step off the front of a path.
func nextStep(text string, first bool) (step, rest string, ok bool) {
	if inner, found := strings.CutPrefix(text, "["); found {
		if strings.HasPrefix(inner, `"`) || strings.HasPrefix(inner, "'") {
			return quotedStep(inner)
		}
		index, rest, closed := strings.Cut(inner, "]")
		_, err := strconv.ParseUint(index, 10, 31)
		return "[" + index + "]", rest, closed && err == nil
	}
	if !first {
		if text, ok = strings.CutPrefix(text, "."); !ok {
			return "", "", false
		}
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], end > 0
}

// quotedStep reads a key in quotes with the bracket behind it.
func quotedStep(text string) (step, rest string, ok bool) {
	for end := 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case text[0]:
			key, err := json5.Parse("", []byte(text[:end+1]))
			rest, closed := strings.CutPrefix(text[end+1:], "]")
			if err != nil || !closed {
				return "", "", false
			}
			return key.Text, rest, true
		}
	}
	return "", "", false
}

// isIndex says whether a step is an item of a list.
func isIndex(step string) bool { return strings.HasPrefix(step, "[") }

// keyAt describes the key at a path: nil inside a value that may be anything.
// The error, of type InvalidError, names the nearest key for an unknown one.
func keyAt(path Path) (*Key, error) {
	k := Keys()
	for i, step := range path {
		at := path[:i]
		switch k.Kind {
		case KindAny:
			return nil, nil
		case KindObject:
			next := k.Lookup(step)
			if next == nil {
				d := decoder{}
				d.unknownKey(&json5.Member{Key: step}, k, at)
				return nil, InvalidError(d.problems)
			}
			k = next
		case KindMap:
			k = k.Elem
		case KindList:
			if !isIndex(step) {
				return nil, InvalidError{{Path: at.String(), Message: "it is a list", Suggestion: "name an item of it, such as " + at.Child("[0]").String()}}
			}
			k = k.Elem
		case KindSecret:
			return nil, InvalidError{{Path: at.String(), Message: "it is a secret and set as a whole"}}
		default:
			return nil, InvalidError{{Path: at.String(), Message: "it is a value without keys"}}
		}
	}
	return k, nil
}

// childOf returns what stands at one step of a tree, or nil.
func childOf(n *json5.Node, step string) *json5.Node {
	if n != nil && n.Kind == json5.Array {
		if !isIndex(step) {
			return nil
		}
		return n.At(strings.Trim(step, "[]"))
	}
	return n.Get(step)
}

// nodeAt returns what stands at a path of a tree, or nil.
func nodeAt(n *json5.Node, path Path) *json5.Node {
	for _, step := range path {
		n = childOf(n, step)
	}
	return n
}
