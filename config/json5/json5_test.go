package json5_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/config/json5"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleParse() {
	tree, err := json5.Parse("bot.json5", []byte("{\n  // how long\n  idleHours: .5,\n}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := tree.Member("idleHours")
	fmt.Println(m.KeyPos, m.Value.Pos, m.Value.Num)
	// Output: bot.json5:3:3 bot.json5:3:14 0.5
}

func ExampleMerge() {
	base, _ := json5.Parse("base.json5", []byte(`{a: {x: 1, y: 2}, b: [1, 2]}`))
	over, _ := json5.Parse("over.json5", []byte(`{a: {y: 3}, b: []}`))
	merged := json5.Merge(base, over)
	text, _ := json.Marshal(merged)
	fmt.Println(string(text))
	fmt.Println(merged.At("a", "x").Pos)
	fmt.Println(merged.At("a", "y").Pos)
	// Output:
	// {"a":{"x":1,"y":3},"b":[]}
	// base.json5:1:9
	// over.json5:1:9
}

func TestParseValues(t *testing.T) {
	tests := []struct {
		src  string
		want any
	}{
		{`null`, nil},
		{`true`, true},
		{`[]`, []any{}},
		{`{}`, map[string]any{}},
		{"\ufeff{}", map[string]any{}},
		{`[1, 2,]`, []any{1.0, 2.0}},
		{`{a: 1, 'b c': 2, "d": 3,}`, map[string]any{"a": 1.0, "b c": 2.0, "d": 3.0}},
		{`{$_ä1: 1, \u0061b: 2, null: 3, if: 4}`, map[string]any{"$_ä1": 1.0, "ab": 2.0, "null": 3.0, "if": 4.0}},
		{"// c\n/* c\n * c */ [ /**/ 1 // c\n]", []any{1.0}},
		{"[1,//\r\n2,//\r3,//\u20284]", []any{1.0, 2.0, 3.0, 4.0}},
		{"\t\v\f\u00a0\u2003[\u2028\u2029]", []any{}},
		{`"a\"b\'c\\\/\b\f\n\r\t\v\0"`, "a\"b'c\\/\b\f\n\r\t\v\x00"},
		{`'\x41\u00e4\ud83d\ude00\q'`, "Aä😀q"},
		{"'one \\\ntwo \\\r\nthree \\\rfour \\\u2028five'", "one two three four five"},
		{"'\u2028'", "\u2028"},
		{`[0, -0, +1, -1, 0x1F, -0XfF, .5, 5., +.5e1, 1E-2, 12e3]`, []any{0.0, 0.0, 1.0, -1.0, 31.0, -255.0, .5, 5.0, 5.0, .01, 12000.0}},
		{`0xFFFFFFFFFFFFFFFFFF`, 4722366482869645213695.0},
		{`9007199254740993`, 9007199254740992.0},
		{`1e-400`, 0.0},
	}
	for _, tt := range tests {
		tree, err := json5.Parse("", []byte(tt.src))
		require.NoError(t, err, tt.src)
		require.Equal(t, tt.want, tree.Interface(), tt.src)
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat("[", json5.MaxDepth+1)
	tests := []struct{ src, want string }{
		{``, `f:1:1: expected a value, found the end of the file (an empty configuration is {})`},
		{"// only a comment", `f:1:18: expected a value, found the end of the file (an empty configuration is {})`},
		{`{} {}`, `f:1:4: expected the end of the file, found '{' (a document is one value; put everything inside one { })`},
		{`{a: }`, `f:1:5: expected a value, found '}'`},
		{`{a: yes}`, `f:1:5: expected a value, found the bare word yes (put quotes around it: "yes")`},
		{`{a: Infinity}`, `f:1:5: expected a finite number, found Infinity (to switch a limit off, write 0 or leave the key out)`},
		{`{a: -Infinity}`, `f:1:5: expected a finite number, found Infinity (to switch a limit off, write 0 or leave the key out)`},
		{`{a: +NaN}`, `f:1:5: expected a finite number, found NaN (to switch a limit off, write 0 or leave the key out)`},
		{`{a: 1e999}`, `f:1:5: the number 1e999 is out of range`},
		{`{a: 24h}`, `f:1:5: a number may not be followed by 'h' (a value with a unit is a string, or its key names the unit)`},
		{`{a: 007}`, `f:1:5: a number may not start with 0 (drop the zeros, or put quotes around an id)`},
		{`{a: 0x}`, `f:1:7: expected hexadecimal digits after 0x, found '}'`},
		{`{a: -}`, `f:1:6: expected a digit, found '}'`},
		{`{a: 1e}`, `f:1:7: expected a digit in the exponent, found '}'`},
		{`{a: +x}`, `f:1:5: expected a number after the sign, found x`},
		{"{\n  a: 1\n  b: 2\n}", `f:3:3: expected ',' or '}', found 'b' (is a comma missing before this place?)`},
		{`[1 2]`, `f:1:4: expected ',' or ']', found '2' (is a comma missing before this place?)`},
		{`{ä: [1,`, `f:1:5: this list has no end (close it with ])`},
		{`{a: 1`, `f:1:1: this object has no end (close it with })`},
		{`{`, `f:1:1: this object has no end (close it with })`},
		{`/* {}`, `f:1:1: this comment has no end (close it with */)`},
		{"{a: 'x\n'}", `f:1:5: this string has no end in its line (close it with '; a line break inside is written \n, or \ at the end of the line to go on)`},
		{`{a: "\1"}`, `f:1:6: \1 is not an escape (a backslash itself is written \\)`},
		{`{a: "\01"}`, `f:1:6: octal escapes are not part of JSON5 (write \x and two hexadecimal digits)`},
		{`{a: "C:\users"}`, `f:1:10: expected 4 hexadecimal digits, found 's' (a backslash itself is written \\)`},
		{`{a: "\ud83d"}`, `f:1:6: this escape is half of a surrogate pair (write the character itself)`},
		{`{a: "\`, `f:1:6: expected a character after \, found the end of the file`},
		{`{a-b: 1}`, `f:1:3: expected ':' after the key "a", found '-' (a key with other characters than letters, digits, _ and $ needs quotes)`},
		{`{a = 1}`, `f:1:4: expected ':' after the key "a", found '=' (JSON5 separates key and value by a colon)`},
		{`{-100123: {}}`, `f:1:2: expected a key, found '-' (a key that starts with a digit or a sign needs quotes)`},
		{`{,}`, `f:1:2: expected a key, found ','`},
		{`{\x61: 1}`, `f:1:3: expected u after \ in a key, found 'x' (put quotes around the key)`},
		{`{\u002d: 1}`, `f:1:2: '-' may not stand in a key without quotes`},
		{"{a: 'x\xff'}", `f:1:7: found the byte 0xFF, which is not UTF-8 (save the file as UTF-8)`},
		{"// \xff\n{}", `f:1:4: found the byte 0xFF, which is not UTF-8 (save the file as UTF-8)`},
		{"{a: \x01}", `f:1:5: expected a value, found the character U+0001`},
		{deep, `f:1:101: nested deeper than 100 levels`},
		{"{a: 1, b: 2,\n a: 3, 'b': 4}", "f:2:2: the key \"a\" stands twice in this object, first at 1:2 (keep one of them)\n" +
			`f:2:8: the key "b" stands twice in this object, first at 1:8 (keep one of them)`},
	}
	for _, tt := range tests {
		_, err := json5.Parse("f", []byte(tt.src))
		require.EqualError(t, err, tt.want, "%q", tt.src)
	}
}

func TestPositions(t *testing.T) {
	src := "{\r\n  größe: [ 'é', 2 ],\r  b: {c: true}\n}"
	tree, err := json5.Parse("f", []byte(src))
	require.NoError(t, err)
	m := tree.Member("größe")
	require.Equal(t, "f:2:3", m.KeyPos.String())
	require.Equal(t, "größe", src[m.KeyPos.Offset:m.KeyEnd])
	require.Equal(t, "f:2:10", m.Value.Pos.String())
	require.Equal(t, "[ 'é', 2 ]", src[m.Value.Pos.Offset:m.Value.End])
	two := tree.At("größe", "1")
	require.Equal(t, "f:2:17", two.Pos.String(), "columns count characters, not bytes")
	require.Equal(t, "2", src[two.Pos.Offset:two.End])
	require.Equal(t, "f:3:10", tree.At("b", "c").Pos.String(), "a lone CR ends a line")
}

func TestInt(t *testing.T) {
	tests := []struct {
		src  string
		want int64
		ok   bool
	}{
		{"7", 7, true}, {"+7", 7, true}, {"-0x10", -16, true}, {"5.0", 5, true}, {"1e3", 1000, true},
		{"9223372036854775807", 9223372036854775807, true}, {"9223372036854775808", 0, false},
		{"1.5", 0, false}, {"1e300", 0, false}, {"'7'", 0, false},
	}
	for _, tt := range tests {
		tree, err := json5.Parse("", []byte(tt.src))
		require.NoError(t, err)
		got, ok := tree.Int()
		require.Equal(t, tt.ok, ok, tt.src)
		require.Equal(t, tt.want, got, tt.src)
	}
	_, ok := (*json5.Node)(nil).Int()
	require.False(t, ok)
}

func TestTreeEdits(t *testing.T) {
	tree, err := json5.Parse("f", []byte(`{a: 1, $open: false, b: {c: [1]}}`))
	require.NoError(t, err)
	copied := tree.Clone()
	require.False(t, tree.Remove("$open").Bool)
	require.Nil(t, tree.Remove("$open"))
	require.Nil(t, tree.At("b", "c", "1"))
	require.Nil(t, tree.At("b", "c", "x"))
	require.Nil(t, tree.At("a", "x"))
	tree.Set("a", json5.NewString("one"))
	tree.Set("d", json5.NewBool(true))
	tree.Set("e", json5.NewObject())
	tree.At("b", "c", "0").Num = 5
	text, err := json.Marshal(tree)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"one","b":{"c":[5]},"d":true,"e":{}}`, string(text))
	text, err = json.Marshal(copied)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1,"$open":false,"b":{"c":[1]}}`, string(text), "a clone shares nothing")
}

func TestMergeReplacesWhatIsNotAnObject(t *testing.T) {
	tests := []struct{ base, over, want string }{
		{`{a: 1}`, `{a: {b: 2}}`, `{"a":{"b":2}}`},
		{`{a: {b: 2}}`, `{a: 1}`, `{"a":1}`},
		{`{a: {b: 2}}`, `{a: null}`, `{"a":null}`},
		{`{a: [1, 2, 3]}`, `{a: [4]}`, `{"a":[4]}`},
		{`{a: {b: {c: 1, d: 2}}}`, `{a: {b: {c: 3, e: 4}}, f: 5}`, `{"a":{"b":{"c":3,"d":2,"e":4}},"f":5}`},
		{`{a: 1}`, `{}`, `{"a":1}`},
		{`{}`, `{a: 1}`, `{"a":1}`},
	}
	for _, tt := range tests {
		base, err := json5.Parse("base", []byte(tt.base))
		require.NoError(t, err)
		over, err := json5.Parse("over", []byte(tt.over))
		require.NoError(t, err)
		text, err := json.Marshal(json5.Merge(base, over))
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(text))
	}
	require.Equal(t, json5.String, json5.Merge(nil, json5.NewString("x")).Kind)
	require.Equal(t, json5.String, json5.Merge(json5.NewString("x"), nil).Kind)
}
