package convtest

import (
	"strings"
	"testing"
)

// File plays one script as part of a Go test, and fails the test with the
// script's report. Without options it uses the console and app.New; the first
// of options replaces that, except for its Paths and Out.
func File(tb testing.TB, path string, options ...Options) {
	tb.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	o.Paths = []string{path}
	out := new(strings.Builder)
	o.Out = out
	sum, err := Run(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	if sum.ExitCode() != 0 {
		tb.Fatal("\n" + out.String())
	}
	if o.Verbose {
		tb.Log("\n" + out.String())
	}
}
