package text_test

import (
	"fmt"

	"github.com/skein-bot/skein/channels/text"
)

// A channel that shows Markdown as it is splits it directly.
func ExampleSplit() {
	answer := "Here is the program:\n```go\nfunc main() {\n\tprintln(1)\n\tprintln(2)\n}\n```\nDone."
	for _, p := range text.Split(answer, text.Limit{Max: 40, Unit: text.UTF16}) {
		fmt.Println(p.Text)
		fmt.Println("=====")
	}
	// Output:
	// Here is the program:
	// =====
	// ```go
	// func main() {
	// 	println(1)
	// ```
	// =====
	// ```go
	// 	println(2)
	// }
	// ```
	// Done.
	// =====
}

// A channel with a dialect of its own renders the tree, then splits.
func ExamplePlain() {
	doc := text.Parse("# News\n\nIt **works**, see [the docs](https://example.org).\n\n| part | state |\n|---|---|\n| parser | done |")
	for _, p := range text.SplitRendered(text.Plain{}.Render(doc), text.Limit{Max: 4000}) {
		fmt.Println(p.Text)
	}
	// Output:
	// News
	//
	// It works, see the docs (https://example.org).
	//
	// part   | state
	// -------+------
	// parser | done
}
