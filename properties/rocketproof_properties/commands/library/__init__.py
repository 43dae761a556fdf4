"""What `import rocketproof` offers beyond the language: deciding, asserting, judging and driving from a program of one's own."""
