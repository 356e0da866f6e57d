package app

import (
	"runtime/debug"
	"sync"
)

// Version returns the version of the module as the build recorded it: a tag, a
// pseudo-version with the commit, or "devel".
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
})
