"""What `import rocketproof` offers in addition to the modelling language: decide, assert, judge, audit and explore."""
