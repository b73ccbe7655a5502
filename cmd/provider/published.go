package main

import (
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// published are the settings of PublishedResources.
type published struct {
	selector       string
	stateNamespace string
	defaultConfig  string
}

func (p *published) addTo(app *kingpin.Application) {
	app.Flag("published-resource-selector",
		"Label selector of the PublishedResources that this provider reconciles. Default: all.").
		StringVar(&p.selector)
	app.Flag("state-namespace",
		"Namespace of the sync-state Secrets of PublishedResources without stateNamespace.").
		Default(publishedresource.DefaultStateNamespace).StringVar(&p.stateNamespace)
	app.Flag("default-provider-config",
		"ClusterProviderConfig of PublishedResources without providerConfigRef.").
		Default(scope.DefaultPublisherConfig).StringVar(&p.defaultConfig)
}

// apply sets the options of the controllers.
func (p *published) apply(o *object.Options) error {
	s, err := labels.Parse(p.selector)
	if err != nil {
		return errors.Wrap(err, "--published-resource-selector")
	}
	if wrong := validation.IsDNS1123Label(p.stateNamespace); len(wrong) > 0 {
		return errors.Errorf("--state-namespace: %s", strings.Join(wrong, "; "))
	}
	if wrong := validation.IsDNS1123Subdomain(p.defaultConfig); len(wrong) > 0 {
		return errors.Errorf("--default-provider-config: %s", strings.Join(wrong, "; "))
	}
	o.PublishedResourceSelector, o.StateNamespace, o.PublishedResourceConfig = s, p.stateNamespace, p.defaultConfig
	return nil
}
