package store_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// unprivileged runs fn with the rights of nobody where the tests run as root:
// on one thread, which is thrown away afterwards.
func unprivileged(t *testing.T, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		fn()
		return
	}
	const nobody = 65534
	done, became := make(chan struct{}), uintptr(0)
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		became, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0) // returns what it was before
		fn()
	}()
	<-done
	require.EqualValues(t, nobody, became, "the thread kept the rights of root")
}
