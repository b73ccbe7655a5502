package objectsync

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// given returns what of both sides of an object its consumer has no say in. The name of the copy is such unless it is that of the object.
func (p primaries) given() (workspace, service map[string]any) {
	metadata := map[string]any{"namespace": p.service.GetNamespace(), "uid": string(p.service.GetUID())}
	if p.service.GetName() != p.workspace.GetName() {
		metadata["name"] = p.service.GetName()
	}
	workspace = map[string]any{"metadata": map[string]any{"uid": string(p.workspace.GetUID())}}
	return workspace, map[string]any{"metadata": metadata}
}

// heeds says whether a template yields a name of the service cluster only because of what the consumer has put into the object.
func (l *locator) heeds(p primaries, name string) bool {
	data := p.data()
	_, service := p.given()
	data["Side"], data["Object"] = string(v1alpha1.OriginService), service
	is, err := l.template.Render(data)
	return err != nil || is != name
}

// heeds says whether a selector selects what it does only because of what the consumer has put into the object.
func (s *selector) heeds(p primaries, selects labels.Selector) bool {
	data := p.data()
	data["RemoteObject"], data["LocalObject"] = p.given()
	is, err := s.render(data)
	return err != nil || is == nil || is.String() != selects.String()
}
