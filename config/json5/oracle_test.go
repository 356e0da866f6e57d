package json5_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	oracle "github.com/titanous/json5"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/config/json5"
)

// TestAgainstOracle writes random documents with every liberty that JSON5
// gives, and expects another implementation to read the same values.
func TestAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t}
		w.value(0)
		src := w.String()
		tree, err := json5.Parse("", []byte(src))
		require.NoError(t, err, src)
		var want any
		require.NoError(t, oracle.Unmarshal([]byte(src), &want), src)
		require.Equal(t, want, tree.Interface(), src)
		requireSpans(t, src, tree)
	})
}

// requireSpans checks that each value, cut out of the source at its offsets,
// reads as itself.
func requireSpans(t *rapid.T, src string, n *json5.Node) {
	again, err := json5.Parse("", []byte(src[n.Pos.Offset:n.End]))
	require.NoError(t, err)
	require.Equal(t, n.Interface(), again.Interface())
	require.Equal(t, 1+strings.Count(src[:n.Pos.Offset], "\n"), n.Pos.Line)
	line := src[strings.LastIndexByte(src[:n.Pos.Offset], '\n')+1 : n.Pos.Offset]
	require.Equal(t, 1+utf8.RuneCountInString(line), n.Pos.Column)
	for _, item := range n.Items {
		requireSpans(t, src, item)
	}
	for _, m := range n.Members {
		requireSpans(t, src, m.Value)
	}
}

// writer draws a document.
type writer struct {
	strings.Builder
	t *rapid.T
}

func (w *writer) pick(from ...string) string { return rapid.SampledFrom(from).Draw(w.t, "pick") }

func (w *writer) space() {
	w.WriteString(w.pick("", " ", "\n", "\t", "// c ü\n", "/* c\n* */"))
}

func (w *writer) value(depth int) {
	w.space()
	kinds := []string{"word", "number", "string"}
	if depth < 4 {
		kinds = append(kinds, "array", "object")
	}
	switch w.pick(kinds...) {
	case "word":
		w.WriteString(w.pick("null", "true", "false"))
	case "number":
		w.WriteString(w.number())
	case "string":
		w.WriteString(w.string())
	case "array":
		w.WriteByte('[')
		w.entries(func(int) { w.value(depth + 1) })
		w.WriteByte(']')
	case "object":
		w.WriteByte('{')
		w.entries(func(i int) {
			w.key(i)
			w.WriteByte(' ') // the oracle takes no comment right after a bare key
			w.space()
			w.WriteByte(':')
			w.value(depth + 1)
		})
		w.WriteByte('}')
	}
	w.space()
}

func (w *writer) entries(one func(i int)) {
	n := rapid.IntRange(0, 4).Draw(w.t, "n")
	for i := range n {
		w.space()
		one(i)
		if i < n-1 || w.pick("", ",") != "" {
			w.WriteByte(',')
		}
		w.space()
	}
}

// key is unique in its object by its index.
func (w *writer) key(i int) {
	name := fmt.Sprintf("%s%d", rapid.StringMatching(`[A-Za-z_$][A-Za-z0-9_$]{0,5}`).Draw(w.t, "key"), i)
	w.WriteString(w.pick(name, "'"+name+"'", `"`+name+`"`))
}

func (w *writer) number() string {
	whole := strconv.Itoa(rapid.IntRange(0, 1<<30).Draw(w.t, "whole"))
	sign := w.pick("", "-", "+")
	return sign + w.pick(whole, whole+".5", "."+whole, whole+"e3", whole+".25E-2", "0x"+strconv.FormatInt(int64(len(whole)*4711), 16))
}

func (w *writer) string() string {
	quote := w.pick("'", `"`)
	var b strings.Builder
	b.WriteString(quote)
	for range rapid.IntRange(0, 6).Draw(w.t, "length") {
		b.WriteString(w.pick("a", "é", "😀", " ", `\n`, `\t`, `\\`, `\'`, `\"`, `\u00e4`, `\ud83d\ude00`, "\\\n", "/", "{", "//"))
	}
	b.WriteString(quote)
	return b.String()
}
