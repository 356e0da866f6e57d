package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A program that prints a secret gets this long, and its output so much room.
const (
	programTimeout  = 10 * time.Second
	maxProgramError = 200 // bytes of its error output that a problem quotes
	maxPrograms     = 4   // that run at once
)

// runProgram returns what a program prints. The line is split at white space;
// no shell sees it. The program gets no input and is killed after 10 s.
func runProgram(line string, deadline func() (context.Context, context.CancelFunc)) ([]byte, error) {
	ctx, cancel := deadline()
	defer cancel()
	words := strings.Fields(line)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) // #nosec G204 -- the operator names the program
	cmd.WaitDelay = time.Second
	stdout, stderr := &head{limit: maxSecretBytes + 1}, &head{limit: maxProgramError}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch said := strings.Join(strings.Fields(stderr.kept.String()), " "); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it did not end within %s", programTimeout)
	case err != nil && said != "":
		return nil, fmt.Errorf("%w: %s", err, said)
	case err != nil:
		return nil, err
	case stdout.kept.Len() > maxSecretBytes:
		return nil, errors.New("it printed more than 1 MiB")
	}
	return stdout.kept.Bytes(), nil
}

// deadline returns a context that ends when a program has had its time.
func (o Options) deadline() (context.Context, context.CancelFunc) {
	if o.Clock != nil {
		return o.Clock.WithTimeout(context.Background(), programTimeout)
	}
	return context.WithTimeout(context.Background(), programTimeout) //nolint:forbidigo // another process knows real time only
}

// runPrograms runs every line once, a few at a time, and returns what each
// printed.
func runPrograms(lines []string, run func(line string) ([]byte, error)) map[string]program {
	places := make(chan struct{}, maxPrograms)
	out := make(map[string]program, len(lines))
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, line := range lines {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			printed, err := run(line)
			mu.Lock()
			defer mu.Unlock()
			out[line] = program{printed, err}
		})
	}
	all.Wait()
	return out
}

// program is what became of one.
type program struct {
	printed []byte
	err     error
}

// head keeps the first bytes that are written to it.
type head struct {
	kept  bytes.Buffer
	limit int
}

// Write implements io.Writer; it takes everything.
func (h *head) Write(b []byte) (int, error) {
	h.kept.Write(b[:min(len(b), h.limit-h.kept.Len())])
	return len(b), nil
}
