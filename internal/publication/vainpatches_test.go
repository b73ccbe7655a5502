package publication

import "testing"

// TestVainPatches shows which patch of a status is not sent again: the one that has changed nothing, as long as the
// object is the same.
func TestVainPatches(t *testing.T) {
	v, p, s := newVainPatches(), in("a", "1"), statusPatch{"{}", "7"}
	if v.has(p, s) {
		t.Error("want the first sent")
	}
	v.note(p, s, true)
	if !v.has(p, s) || v.has(p, statusPatch{"{}", "8"}) || v.has(p, statusPatch{`{"a":1}`, "7"}) ||
		v.has(in("a", "2"), s) {
		t.Error("want only the same patch of the same object in the same version not sent")
	}
	if v.note(p, s, false); v.has(p, s) || len(v.by) != 0 {
		t.Error("want it forgotten")
	}
}
