package threadbind

import (
	"sync"

	"github.com/skein-bot/skein/core"
)

// Index is a map from places to the bindings there, in front of the store. It
// knows every place with a live binding, and perhaps some whose transaction was
// rolled back or is not finished. So a miss is the truth and costs no probe,
// and a hit is checked against the record. That holds while this process is
// the only writer of the store.
//
// Its methods never block for long and may be called from many goroutines.
type Index struct {
	mu     sync.RWMutex
	places map[core.Place]string
}

// loadBatch is how many records Load reads at once; reading holds no writer.
const loadBatch = 5000

// NewIndex returns an empty index with room for n places. Fill it from
// Tx.LiveBindings before the first message.
func NewIndex(n int) *Index {
	return &Index{places: make(map[core.Place]string, n)}
}

// Load adds every live binding of the store. It reads in batches and returns
// how many there are.
func (x *Index) Load(tx Tx) (int, error) {
	n, after := 0, ""
	for {
		batch, err := tx.LiveBindings(after, loadBatch)
		if err != nil {
			return n, err
		}
		for _, b := range batch {
			if hasPlace(b.Address) {
				x.Put(b.Address.Place(), b.ID)
				n++
			}
			after = b.ID
		}
		if len(batch) < loadBatch {
			return n, nil
		}
	}
}

// Lookup returns the id of the binding that may be live at place.
func (x *Index) Lookup(place core.Place) (id string, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	id, ok = x.places[place]
	return id, ok
}

// Put records that id may be live at place.
func (x *Index) Put(place core.Place, id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.places[place] = id
}

// Remove records that id is not live at place any more; another id there
// stays.
func (x *Index) Remove(place core.Place, id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.places[place] == id {
		delete(x.places, place)
	}
}

// Len returns how many places are known.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.places)
}
