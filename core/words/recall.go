package words

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recall words a detail for people. Details of runs and turns are kept in
// English, because models, logs and programs read them too; the texts whose
// names begin with "detail." and those of refusals are found again in the
// English catalogue, with what was put into them. What is not of the catalogue,
// such as the error of an extension, stays as it is.
func (l Language) Recall(detail string) string {
	if l == (Language{}) {
		return detail
	}
	k, remedied, args, ok := find(detail)
	if !ok {
		return detail
	}
	t := l.table().texts[k]
	if remedied {
		return l.fill(t.other, args) + " (" + l.fill(t.remedy, args) + ")"
	}
	f := formOther
	for _, a := range args {
		if n, ok := a.value.(count); ok {
			f = l.table().plural(int(n))
		}
	}
	return l.fill(f.of(t), args)
}

// find looks a detail up in the English catalogue. Of several texts that could
// have made it the one with the most words of its own is taken.
func find(detail string) (found key, remedied bool, args []arg, ok bool) {
	most := -1
	try := func(k key, wording string, remedy bool) {
		pieces := split(wording)
		own := 0
		for _, p := range pieces {
			own += len(p.literal)
		}
		if own <= most {
			return
		}
		if got, matches := match(pieces, detail); matches {
			found, remedied, args, ok, most = k, remedy, got, true, own
		}
	}
	for k, t := range english().texts {
		switch k := key(k); {
		case t.remedy != "":
			try(k, t.other+" ("+t.remedy+")", true)
		case recallable(k):
			for _, wording := range []string{t.other, t.one} {
				if wording != "" {
					try(k, wording, false)
				}
			}
		}
	}
	return found, remedied, args, ok
}

func english() *table { return Language{}.table() }

// match takes text apart by the pieces of a wording.
func match(pieces []piece, text string) ([]arg, bool) {
	if len(pieces) == 0 {
		return nil, text == ""
	}
	p, rest := pieces[0], pieces[1:]
	if p.name == "" {
		if !strings.HasPrefix(text, p.literal) {
			return nil, false
		}
		return match(rest, text[len(p.literal):])
	}
	for n := 1; n <= len(text); n++ {
		if len(rest) > 0 && rest[0].name == "" { // on to where the next literal stands
			i := strings.Index(text[n:], rest[0].literal)
			if i < 0 {
				return nil, false
			}
			n += i
		} else if len(rest) == 0 {
			n = len(text)
		}
		value, ok := read(p.kind, text[:n])
		if !ok {
			continue
		}
		args, ok := match(rest, text[n:])
		switch again := slices.IndexFunc(args, func(a arg) bool { return a.name == p.name }); {
		case !ok, again >= 0 && args[again].value != value: // one name, one value
		case again >= 0:
			return args, true
		default:
			return append(args, arg{p.name, value}), true
		}
	}
	return nil, false
}

// read reads an argument back from its English form.
func read(kind, s string) (any, bool) {
	switch kind {
	case "int", "count":
		n, err := strconv.Atoi(s)
		if kind == "count" {
			return count(n), err == nil
		}
		return n, err == nil
	case "quoted":
		text, err := strconv.Unquote(s)
		return text, err == nil
	case "duration", "age":
		return readDuration(s)
	case "detail":
		return s, true
	}
	return raw(s), true
}

// readDuration reads "1d 2h 3m 4s".
func readDuration(s string) (any, bool) {
	var total time.Duration
	for _, part := range strings.Fields(s) {
		i := strings.IndexAny(part, "dhms")
		if i != len(part)-1 {
			return nil, false
		}
		n, err := strconv.Atoi(part[:i])
		if err != nil {
			return nil, false
		}
		length := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[part[i]]
		total += time.Duration(n) * length
	}
	return total, true
}
