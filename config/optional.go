package config

import (
	"encoding/json"
	"fmt"
)

// Optional is a number or a boolean that may be absent. An absent value
// inherits from the next wider place (account, channel, global, built-in) and
// is never mistaken for zero or false. The zero Optional is absent.
//
// Strings and enumerations need no Optional: empty means absent. Neither do
// lists and maps: nil means absent, empty means "none".
type Optional[T any] struct {
	value T
	isSet bool
}

// Some returns an Optional that holds v, which may be zero or false.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, isSet: true} }

// Get returns the value and whether there is one.
func (o Optional[T]) Get() (T, bool) { return o.value, o.isSet }

// IsSet says whether there is a value.
func (o Optional[T]) IsSet() bool { return o.isSet }

// IsZero says whether the value is absent; encoding/json asks it for omitzero.
func (o Optional[T]) IsZero() bool { return !o.isSet }

// Or returns the value, or fallback if there is none.
func (o Optional[T]) Or(fallback T) T {
	if o.isSet {
		return o.value
	}
	return fallback
}

// String returns the value as text, or "unset".
func (o Optional[T]) String() string {
	if !o.isSet {
		return "unset"
	}
	return fmt.Sprint(o.value)
}

// MarshalJSON writes the value, or null if it is absent.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.isSet {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// nearest returns the first value that is set, or fallback.
func nearest[T any](fallback T, from ...Optional[T]) T {
	for _, o := range from {
		if o.isSet {
			return o.value
		}
	}
	return fallback
}

// nearestText returns the first text that is not empty.
func nearestText[T ~string](from ...T) T {
	for _, s := range from {
		if s != "" {
			return s
		}
	}
	return ""
}

// nearestList returns the first list that is not nil; an empty one counts.
func nearestList[T any](from ...[]T) []T {
	for _, l := range from {
		if l != nil {
			return l
		}
	}
	return nil
}
