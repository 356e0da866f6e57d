package bench_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkProcess is the program as people run it: its size, the time from
// exec to ready, and the memory of an idle gateway.
func BenchmarkProcess(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "skein")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "../cmd/skein")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, string(out))
	info, err := os.Stat(bin)
	require.NoError(b, err)
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "skein.json5"), []byte(rigConfig), 0o600))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "model.json5"), []byte(`{ rules: [] }`), 0o600))
	var ready []time.Duration
	var rss int
	for b.Loop() {
		t, m := startOnce(b, bin, dir)
		ready, rss = append(ready, t), m
	}
	b.ReportMetric(float64(quantile(ready, .5).Microseconds())/1000, "ready-p50-ms")
	b.ReportMetric(float64(quantile(ready, .99).Microseconds())/1000, "ready-p99-ms")
	b.ReportMetric(float64(rss)/1024, "idle-rss-MB")
	b.ReportMetric(float64(info.Size())/(1<<20), "binary-MB")
}

// startOnce runs a gateway until it is ready and returns how long that took and
// its resident memory in KB a moment later.
func startOnce(b *testing.B, bin, dir string) (time.Duration, int) {
	b.Helper()
	r, w, err := os.Pipe()
	require.NoError(b, err)
	defer r.Close()
	cmd := exec.Command(bin, "run", "--config", filepath.Join(dir, "skein.json5"), "--ready-fd", "3")
	cmd.ExtraFiles = []*os.File{w}
	began := time.Now()
	require.NoError(b, cmd.Start())
	require.NoError(b, w.Close())
	_, _ = bufio.NewReader(r).ReadByte() // ends when the gateway closes it
	took := time.Since(began)
	<-time.After(100 * time.Millisecond)
	kb := residentKB(b, cmd.Process.Pid)
	require.NoError(b, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(b, cmd.Wait())
	return took, kb
}

func residentKB(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(b, err)
			return kb
		}
	}
	return 0
}
