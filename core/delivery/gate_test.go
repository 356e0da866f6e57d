package delivery

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

func TestGate(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text is kept", "  two\n\n\tlines  \n", "  two\n\n\tlines  \n"},
		{"blank", " \n\t ", ""},
		{"empty", "", ""},

		{"token", "NO_REPLY", ""},
		{"token in any case, with white space", "\n no_reply \n", ""},
		{"skip token", "ANNOUNCE_SKIP\n", ""},
		{"skip token in another case is text", "announce_skip", "announce_skip"},
		{"token behind reasoning", "<think>nothing to add</think>\nNO_REPLY", ""},
		{"token inside a text", "NO_REPLY is a token", "NO_REPLY is a token"},

		{"NUL and broken UTF-8", "a\x00b\xffc", "a\uFFFDb\uFFFDc"},

		{"reasoning", "<think>\nLet me see.\n</think>\n\nHello", "Hello"},
		{"reasoning with attributes, in capitals", `<Thinking level="2">x</THINKING>Hello`, "Hello"},
		{"reasoning between paragraphs", "One.\n\n<thinking>x</thinking>\n\nTwo.", "One.\n\nTwo."},
		{"reasoning inside a line", "One <think>x</think> two", "One two"},
		{"reasoning inside a word", "One<think>x</think>two", "Onetwo"},
		{"nested reasoning", "<think>a<think>b</think>c</think>d", "d"},
		{"opened twice, closed once", "<think>a<think>b</think>c", "c"},
		{"reasoning that broke off", "<think>I wonder", ""},
		{"an odd backtick in reasoning", "<think>a ` b</think>c `<think>` d", "c `<think>` d"},
		{"a fence in reasoning", "<think>\n```\nx\n</think>\nc", "c"},
		{"only the end of reasoning", "I wonder.\n</think>\n\nHello", "Hello"},
		{"the indent of code stays", "<think>x</think>\n    code", "    code"},
		{"B267: a tag in the middle is text", "x <thinking> y", "x <thinking> y"},
		{"a closing tag in the middle is text", "x </think> y", "x </think> y"},
		{"other tags are text", "<b>x</b> <thinker> <", "<b>x</b> <thinker> <"},
		{"in a code span", "use `<think>x</think>` here", "use `<think>x</think>` here"},
		{"in a longer code span", "use ``a`<think>x</think>`` here", "use ``a`<think>x</think>`` here"},
		{"in a code block", "```xml\n<tool_call>x</tool_call>\n```", "```xml\n<tool_call>x</tool_call>\n```"},
		{"in a tilde block", "~~~~\n<think>x</think>\n~~~\n~~~~\n<think>y</think>z", "~~~~\n<think>x</think>\n~~~\n~~~~\nz"},
		{"an odd backtick protects nothing", "it`s <think>x</think>y", "it`s y"},

		{"tool call", "On it.\n<tool_call>\n{\"name\":\"x\"}\n</tool_call>", "On it."},
		{"tool calls", "<function_calls><invoke name=\"x\"><parameter name=\"y\">1</parameter></invoke></function_calls>\nDone", "Done"},
		{"tool call by name", "<function=search>{\"q\":1}</function>Done", "Done"},
		{"tool call that broke off", "On it.\n<tool_call>{\"name\":", "On it."},
		{"tool call that broke off in a line", "On it. <invoke name=\"x\"><para", "On it."},
		{"the word in a sentence", "the <invoke> tag", "the <invoke> tag"},
		{"only the end of a tool call", "Done\n</tool_call>", "Done"},
		{"template tokens", "<|im_start|>assistant\nHello<|im_end|>", "assistant\nHello"},
		{"tokens of tool calls", "Hi<｜tool▁calls▁begin｜>search{}<｜tool▁calls▁end｜>", "Hi"},
		{"tokens of tool sections", "Hi <|tool_calls_section_begin|>x<|tool_calls_section_end|> there", "Hi there"},
		{"operators are text", "f <| x |> g", "f <| x |> g"},

		{"mark of a message", "[skein:message {\"from\":\"a]\"}]\nHello", "Hello"},
		{"mark of an event", "[skein:event]\nsubagent ended\nrun: 1\n[skein:end]\nIt is done.", "It is done."},
		{"mark of an event without its end", "[skein:event]\nrun: 1\n\nIt is done.", "It is done."},
		{"mark of an event alone", "[skein:event]\nrun: 1", ""},
		{"mark in a line", "I got a [skein:tool-error] here", "I got a here"},
		{"mark in code", "```\n[skein:note]\nx\n[skein:end]\n```", "```\n```"},
		{"mark in disguise", "[ SKEIN\u200b :note] x [skein:end]Hello", "Hello"},
		{"mark cut short", "[skein: what", "what"},
		{"brackets are text", "[x] [skeins] a[0]", "[x] [skeins] a[0]"},

		{"what is left makes a tag", "<thi<think>x</think>nk>y</think>z", "z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Gate(tt.in))
			require.Equal(t, tt.want, Gate(tt.want), "a second pass changes nothing")
		})
	}
}

// Everything that core/model writes for a model is stopped.
func TestB141_NothingTheRuntimeRendersForAModelLeaves(t *testing.T) {
	items := []model.Item{
		{Kind: model.User, Text: "hi", Author: &core.Author{ID: "1", Name: "Ann [x]"}, MessageID: "7"},
		{Kind: model.Note, Text: "the answer was cut"},
		{Kind: model.ToolOutput, Text: "no such file", Failed: true},
		{Kind: model.Event, Completion: &model.Completion{Source: "subagent", Label: "cats", Status: core.RunOK, RunID: "r1",
			SessionKey: "agent:main:subagent:x", Result: "Cats\n\nsleep.", Stats: "runtime 5s"}},
	}
	for _, item := range items {
		rendered := model.Render(item)
		require.Contains(t, rendered, "[skein:")
		got := Gate("Before.\n" + rendered + "\nAfter.")
		require.NotContains(t, got, "skein:")
		require.NotContains(t, got, "agent:main")
		require.Contains(t, got, "Before.")
		require.Contains(t, got, "After.")
	}
}

func TestB143_TheTokenIsRecognisedOnlyAsTheWholeMessage(t *testing.T) {
	require.Empty(t, Gate("NO_REPLY"))
	require.Equal(t, "no_reply is a token", Gate("no_reply is a token"))
}

func TestGateTakesLinearTime(t *testing.T) {
	const size = 1 << 20
	for _, unit := range []string{"<", "<think>", "x<invoke>", "</think>\n", "<|", "`", "``` ", "[skein:x", "[skein:note]", "<a ", "~", "x` <think>y"} {
		Gate(strings.Repeat(unit, size/len(unit))) // hangs if it is quadratic
	}
	var distinct strings.Builder
	for i := range size / 20 {
		fmt.Fprintf(&distinct, "<|tool%dbegin|>", i)
	}
	Gate(distinct.String())
}

func FuzzGate(f *testing.F) {
	for _, s := range []string{
		"hello", "<think>x</think>y", "<thi<think></think>nk>", "`<think>`", "```\n<tool_call>", "[skein:event]\nx\n[skein:end]",
		"[ske[skein:end]in:x]", "<|im_end|>", "a\x00\xff", "</think>\n</think>\nx", "<tool_call>{", "[skein:[skein:x]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Gate(s)
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Fatalf("not clean: %q", got)
		}
		if len(findMarks(got)) > 0 {
			t.Fatalf("a mark leaves: %q", got)
		}
		if again := Gate(got); again != got {
			t.Fatalf("not idempotent: %q, then %q", got, again)
		}
		if !strings.ContainsAny(s, "<[\x00") && utf8.ValidString(s) && got != "" && got != s {
			t.Fatalf("plain text was changed: %q", got)
		}
	})
}

func BenchmarkGate(b *testing.B) {
	plain := strings.Repeat("An ordinary answer with *some* markup. ", 40)
	for name, text := range map[string]string{"plain": plain, "reasoning": "<think>" + plain + "</think>\n" + plain} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Gate(text)
			}
		})
	}
}

func ExampleGate() {
	fmt.Println(Gate("<think>They want a greeting.</think>\nHello!"))
	fmt.Printf("%q\n", Gate("NO_REPLY"))
	// Output:
	// Hello!
	// ""
}
