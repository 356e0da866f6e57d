package convtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/convtest"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "scripts-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const text = `
alice @ console/main: hello
console/main < /Good morning/
advance 25h
console/main < nothing

-- model.json5 --
{ rules: [{ when: { user: "/hello/" }, delay: "3s", say: "Good morning!" }] }
`
	if err := os.WriteFile(filepath.Join(dir, "greeting.txtar"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	summary, err := convtest.Run(context.Background(), convtest.Options{Paths: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Passed, "passed in", summary.Files[0].VirtualMs/1000, "s of its own; exit code", summary.ExitCode())
	// Output: 1 passed in 90003 s of its own; exit code 0
}
